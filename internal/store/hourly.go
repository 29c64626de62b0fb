package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

const (
	// recount is how old the counts of hours gone by may get: an hour whose receipts still come in is not counted anew
	// by every pass.
	recount = 5 * time.Minute

	// recountMinutes is likewise of the minutes of the running hour.
	recountMinutes = 20 * time.Second

	// backfill bounds how many hours of an older log one call counts.
	backfill = 24

	// cellNames are the columns that make a cell of push_hourly, besides its hour.
	cellNames = `biz_type, action, provider, status, error_code`
)

// rowsOf are the rows created in [from, to), two terms of SQL, each with its hour or minute, cell and latency bucket. They
// are found by id: no index on created_at is paid for.
func rowsOf(unit, from, to, restriction string) string {
	return fmt.Sprintf(`(SELECT date_trunc('%[1]s', created_at) AS %[1]s, biz_type, action, coalesce(provider, '') AS provider, status,
		coalesce(error_code, '') AS error_code, width_bucket(sent_at - record_time,
			'{0.1 s, 0.25 s, 0.5 s, 1 s, 2.5 s, 5 s, 10 s, 30 s, 60 s, 300 s}'::interval[]) AS bucket
		FROM push_log WHERE id >= (SELECT push_log_id_at(%[2]s - interval '2 min')) AND id < (SELECT push_log_id_at(%[3]s + interval '2 min'))
		AND created_at >= %[2]s AND created_at < %[3]s%[4]s) c`, unit, from, to, restriction)
}

// buckets is the latencies of a cell as an array; of rows without sent_at no bucket is counted.
func buckets() string {
	counts := make([]string, len(push.LatencyBounds())+1)
	for i := range counts {
		counts[i] = fmt.Sprintf("count(*) FILTER (WHERE bucket = %d)", i)
	}
	return "ARRAY[" + strings.Join(counts, ", ") + "]"
}

// CountHours counts the hours gone by of which a row has changed since they were counted, and some hours of an older
// log that never were; call it until it counts none. Then it counts the minutes of the running hour in the same way, which
// it does not tell of. An hour or a minute is counted as a whole and replaced, so that doing it twice changes nothing. Of
// two callers at once one does the work, and the other has nothing to do.
func (s *Store) CountHours(ctx context.Context) (hours int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		dirty, err := dirtyHours(ctx, tx)
		if err != nil {
			return err
		}
		for _, hour := range dirty {
			if err := countAnHour(ctx, tx, hour); err != nil {
				return err
			}
		}
		if hours = len(dirty); hours == 0 {
			return countMinutes(ctx, tx)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("counting hours: %w", err)
	}
	return hours, nil
}

// countAnHour replaces the counts of one hour.
func countAnHour(ctx context.Context, tx pgx.Tx, hour time.Time) error {
	if _, err := tx.Exec(ctx, `DELETE FROM push_hourly WHERE hour = $1`, hour); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO push_hourly (hour, `+cellNames+`, count, latency)
		SELECT hour, `+cellNames+`, count(*), `+buckets()+` FROM `+
		rowsOf("hour", "@hour::timestamptz", "(@hour::timestamptz + interval '1 h')", "")+` GROUP BY hour, `+cellNames,
		pgx.NamedArgs{"hour": hour})
	return err
}

// countMinutes replaces the counts of those minutes gone by of the running hour that have rows changed since they were
// counted, or that never were. It does nothing while the state's hour is not the running one, or another has it in hand.
func countMinutes(ctx context.Context, tx pgx.Tx) error {
	var now, to, at time.Time
	err := tx.QueryRow(ctx, `SELECT now(), greatest(minutes_to, date_trunc('hour', now())), greatest(minutes_at, date_trunc('hour', now()))
		FROM push_hourly_state WHERE counted_to >= date_trunc('hour', now()) FOR UPDATE SKIP LOCKED`).Scan(&now, &to, &at)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && now.Sub(at) < recountMinutes {
		return nil
	}
	if err != nil {
		return err
	}
	since := earlier(to, at.Add(-standing)) // what was created later was changed later, too
	rows, err := tx.Query(ctx, `SELECT DISTINCT date_trunc('minute', created_at) FROM push_log
		WHERE updated_at >= $1 AND created_at >= $2 AND created_at < $3 ORDER BY 1`, since, hourOf(now), now.Truncate(time.Minute))
	if err != nil {
		return err
	}
	dirty, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return err
	}
	if err := replaceMinutes(ctx, tx, dirty, now); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE push_hourly_state SET minutes_to = $1, minutes_at = $2`, now.Truncate(time.Minute), now)
	return err
}

// replaceMinutes replaces the counts of some minutes of the running hour, and drops those of hours gone by.
func replaceMinutes(ctx context.Context, tx pgx.Tx, minutes []time.Time, now time.Time) error {
	if _, err := tx.Exec(ctx, `DELETE FROM push_minute WHERE minute < $1 OR minute = ANY ($2)`, hourOf(now), minutes); err != nil {
		return err
	}
	if len(minutes) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO push_minute (minute, `+cellNames+`, count, latency)
		SELECT minute, `+cellNames+`, count(*), `+buckets()+` FROM `+
		rowsOf("minute", "@from::timestamptz", "@to::timestamptz", ` AND date_trunc('minute', created_at) = ANY (@minutes)`)+
		` GROUP BY minute, `+cellNames,
		pgx.NamedArgs{"from": minutes[0], "to": now.Truncate(time.Minute), "minutes": minutes})
	return err
}

// dirtyHours takes the state, says which hours are to be counted, and notes them as counted: the transaction does it or
// takes it back. None: nothing is due, or another has the state in hand.
func dirtyHours(ctx context.Context, tx pgx.Tx) ([]time.Time, error) {
	if _, err := tx.Exec(ctx, `INSERT INTO push_hourly_state (counted_from, counted_to)
		VALUES (date_trunc('hour', now()), now()) ON CONFLICT DO NOTHING`); err != nil {
		return nil, err
	}
	var from, to, now time.Time // rows of hours before pruned_to may be gone: those are not counted again
	err := tx.QueryRow(ctx, `SELECT greatest(counted_from, pruned_to), counted_to, now() FROM push_hourly_state
		FOR UPDATE SKIP LOCKED`).
		Scan(&from, &to, &now)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if now.Sub(to) >= recount || hourOf(now).After(hourOf(to)) {
		hours, err := changedHours(ctx, tx, from, to, now)
		if len(hours) > 0 || err != nil {
			return hours, err
		}
	}
	return olderHours(ctx, tx)
}

// changedHours are the hours gone by that have rows changed since to, and the one that was running then: none of its rows
// was counted.
func changedHours(ctx context.Context, tx pgx.Tx, from, to, now time.Time) ([]time.Time, error) {
	since := to.Add(-standing)
	if hourOf(now).After(hourOf(to)) {
		since = earlier(since, hourOf(to))
	}
	rows, err := tx.Query(ctx, `SELECT DISTINCT date_trunc('hour', created_at) FROM push_log
		WHERE updated_at >= $2 AND created_at >= $1 AND created_at < $3 ORDER BY 1`, from, since, hourOf(now))
	if err != nil {
		return nil, err
	}
	hours, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE push_hourly_state SET counted_to = $1`, now)
	return hours, err
}

// olderHours are hours from before the first count, newest first, while the log has any.
func olderHours(ctx context.Context, tx pgx.Tx) ([]time.Time, error) {
	rows, err := tx.Query(ctx, `SELECT h FROM push_hourly_state, (SELECT created_at FROM push_log ORDER BY id LIMIT 1) oldest,
		generate_series(greatest(counted_from - $1 * interval '1 h', pruned_to, date_trunc('hour', oldest.created_at)),
			counted_from - interval '1 h', interval '1 h') h`, backfill)
	if err != nil {
		return nil, err
	}
	hours, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil || len(hours) == 0 {
		return nil, err
	}
	_, err = tx.Exec(ctx, `UPDATE push_hourly_state SET counted_from = $1`, hours[0])
	return hours, err
}

func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }

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

	// backfill bounds how many hours of an older log one call counts.
	backfill = 24

	// cellColumns is one cell of an hour, counted from push_log l.
	cellNames = `biz_type, action, provider, status, error_code`

	// countHour counts the rows created in an hour. They are found by id: no index on created_at is paid for.
	countHour = `INSERT INTO push_hourly (hour, ` + cellNames + `, count, latency)
		SELECT @hour::timestamptz, ` + cellNames + `, count(*), `

	// hourRows are the rows created in a span, with their cell and latency bucket.
	hourRows = `(SELECT date_trunc('hour', created_at) AS hour, biz_type, action, coalesce(provider, '') AS provider, status,
		coalesce(error_code, '') AS error_code,
		width_bucket(extract(epoch FROM sent_at - record_time), ARRAY[0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]) AS bucket
		FROM push_log WHERE id >= (SELECT push_log_id_at(%[1]s - interval '2 min')) AND id < (SELECT push_log_id_at(%[2]s + interval '2 min'))
		AND created_at >= %[1]s AND created_at < %[2]s) c`
)

// buckets is the latencies of a cell as an array; of rows without sent_at no bucket is counted.
func buckets() string {
	counts := make([]string, len(push.LatencyBounds())+1)
	for i := range counts {
		counts[i] = fmt.Sprintf("count(*) FILTER (WHERE bucket = %d)", i)
	}
	return "ARRAY[" + strings.Join(counts, ", ") + "]"
}

// CountHours counts the hours gone by of which a row has changed since they were counted, and some hours of an older
// log that never were; call it until it counts none. An hour is counted as a whole and replaced, so that doing it twice
// changes nothing. Of two callers at once one does the work, and the other has nothing to do.
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
		hours = len(dirty)
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
	rows := fmt.Sprintf(hourRows, "@hour::timestamptz", "(@hour::timestamptz + interval '1 h')")
	_, err := tx.Exec(ctx, countHour+buckets()+` FROM `+rows+` GROUP BY `+cellNames, pgx.NamedArgs{"hour": hour})
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

// changedHours are the hours gone by, and counted before or only gone by since, that have rows changed since to.
func changedHours(ctx context.Context, tx pgx.Tx, from, to, now time.Time) ([]time.Time, error) {
	rows, err := tx.Query(ctx, `SELECT DISTINCT date_trunc('hour', created_at) FROM push_log
		WHERE updated_at >= $2::timestamptz - $4::interval AND created_at >= $1 AND created_at < date_trunc('hour', $3::timestamptz)
		ORDER BY 1`, from, to, now, standing)
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

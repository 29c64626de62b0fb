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

// counted says what is counted: the whole hours [first, open) in push_hourly, the minutes [open, minutes) in push_minute.
type counted struct{ first, open, minutes time.Time }

// spans parts a time into what push_hourly has counted (whole hours), what push_minute has, and what is counted from
// push_log: before and after these. Empty parts have no length.
type spans struct {
	head, rolled, minutes, tail [2]time.Time
}

// split parts [from, to).
func split(from, to time.Time, c counted) spans {
	hours := [2]time.Time{later(roundUp(from, time.Hour), c.first), earlier(hourOf(to), c.open)}
	minutes := [2]time.Time{later(roundUp(from, time.Minute), c.open), earlier(to.UTC().Truncate(time.Minute), c.minutes)}
	if !hours[0].Before(hours[1]) {
		hours = [2]time.Time{minutes[0], minutes[0]}
		if !minutes[0].Before(minutes[1]) { // nothing is counted: all of it from push_log
			hours = [2]time.Time{to, to}
		}
	}
	if !minutes[0].Equal(hours[1]) || !minutes[0].Before(minutes[1]) {
		minutes = [2]time.Time{hours[1], hours[1]}
	}
	return spans{head: [2]time.Time{from, hours[0]}, rolled: hours, minutes: minutes, tail: [2]time.Time{minutes[1], to}}
}

// roundUp is the first whole hour or minute that is not before t.
func roundUp(t time.Time, unit time.Duration) time.Time {
	if whole := t.UTC().Truncate(unit); whole.Before(t) {
		return whole.Add(unit)
	}
	return t.UTC()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// cells is what Stats and Hourly sum up: counted hours and minutes, and the rest of the time by the rows themselves.
func cells() string {
	live := func(part string) string {
		return `SELECT hour, action, provider, status, error_code, count(*) AS count, ` + buckets() + ` AS latency FROM ` +
			rowsOf("hour", "@"+part+"_from::timestamptz", "@"+part+"_to::timestamptz", "") +
			` WHERE @` + part + `_from < @` + part + `_to GROUP BY hour, action, provider, status, error_code`
	}
	return `(SELECT hour, action, provider, status, error_code, count, latency FROM push_hourly
		WHERE hour >= @rolled_from AND hour < @rolled_to UNION ALL
		SELECT date_trunc('hour', minute), action, provider, status, error_code, count, latency FROM push_minute
		WHERE minute >= @minutes_from AND minute < @minutes_to UNION ALL ` + live("head") + ` UNION ALL ` + live("tail") + `) c`
}

// cellArgs are the arguments of cells for the deliveries created in [from, to). Zero times mean everything until now.
func (s *Store) cellArgs(ctx context.Context, from, to time.Time) (pgx.NamedArgs, error) {
	var first, open, minutes *time.Time
	var oldest, now time.Time
	err := s.pool.QueryRow(ctx, `SELECT (SELECT counted_from FROM push_hourly_state),
		(SELECT date_trunc('hour', counted_to) FROM push_hourly_state),
		(SELECT greatest(minutes_to, date_trunc('hour', counted_to)) FROM push_hourly_state),
		coalesce((SELECT created_at FROM push_log ORDER BY id LIMIT 1), now()), now()`).Scan(&first, &open, &minutes, &oldest, &now)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	if from.IsZero() || from.Before(oldest) {
		from = hourOf(oldest)
	}
	if to.IsZero() {
		to = now.Add(standing)
	}
	part := spans{head: [2]time.Time{from, to}, rolled: [2]time.Time{to, to}, minutes: [2]time.Time{to, to}, tail: [2]time.Time{to, to}}
	if first != nil {
		part = split(from, to, counted{*first, *open, *minutes})
	}
	return pgx.NamedArgs{
		"head_from": part.head[0], "head_to": part.head[1], "rolled_from": part.rolled[0], "rolled_to": part.rolled[1],
		"minutes_from": part.minutes[0], "minutes_to": part.minutes[1], "tail_from": part.tail[0], "tail_to": part.tail[1],
	}, nil
}

// Stats counts the deliveries created in [from, to) by action, status, provider and error, as they stand; a zero time
// does not restrict. Whole hours gone by come from push_hourly, as they stood some minutes ago, the running one from
// push_minute, as it stood at the last pass of the compensator.
func (s *Store) Stats(ctx context.Context, from, to time.Time) ([]push.Count, error) {
	args, err := s.cellArgs(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("counting the push log: %w", err)
	}
	rows, err := s.pool.Query(ctx, `SELECT action, status, provider, error_code, sum(count)::bigint FROM `+cells()+`
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`, args)
	if err != nil {
		return nil, fmt.Errorf("counting the push log: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[push.Count])
	if err != nil {
		return nil, fmt.Errorf("counting the push log: %w", err)
	}
	return counts, nil
}

// Hourly is Stats for charts: by the hour of creation, with latencies, oldest first; errors are not told apart.
func (s *Store) Hourly(ctx context.Context, from, to time.Time) ([]push.Hour, error) {
	args, err := s.cellArgs(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("counting hours of the push log: %w", err)
	}
	rows, err := s.pool.Query(ctx, `SELECT hour, action, provider, status, sum(count)::bigint,
		`+sumOfBuckets()+` FROM `+cells()+` GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`, args)
	if err != nil {
		return nil, fmt.Errorf("counting hours of the push log: %w", err)
	}
	hours, err := pgx.CollectRows(rows, pgx.RowToStructByPos[push.Hour])
	if err != nil {
		return nil, fmt.Errorf("counting hours of the push log: %w", err)
	}
	return hours, nil
}

// sumOfBuckets adds arrays of latencies.
func sumOfBuckets() string {
	sums := make([]string, len(push.LatencyBounds())+1)
	for i := range sums {
		sums[i] = fmt.Sprintf("sum(latency[%d])::bigint", i+1)
	}
	return "ARRAY[" + strings.Join(sums, ", ") + "]"
}

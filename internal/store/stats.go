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

// spans parts a time into what push_hourly has counted (whole hours), and what is counted from push_log: before and
// after it. Empty parts have no length.
type spans struct {
	head, rolled, tail [2]time.Time
}

// split parts [from, to) for hours counted from first on and before open.
func split(from, to, first, open time.Time) spans {
	begin := from.UTC().Truncate(time.Hour)
	if begin.Before(from) {
		begin = begin.Add(time.Hour)
	}
	if begin.Before(first) {
		begin = first
	}
	end := hourOf(to)
	if end.After(open) {
		end = open
	}
	if !begin.Before(end) { // nothing is counted: all of it from push_log
		return spans{head: [2]time.Time{from, to}, rolled: [2]time.Time{to, to}, tail: [2]time.Time{to, to}}
	}
	return spans{head: [2]time.Time{from, begin}, rolled: [2]time.Time{begin, end}, tail: [2]time.Time{end, to}}
}

// cells is what Stats and Hourly sum up: counted hours, and the rest of the time by the rows themselves.
func cells() string {
	live := func(part string) string {
		return `SELECT hour, action, provider, status, error_code, count(*) AS count, ` + buckets() + ` AS latency FROM ` +
			fmt.Sprintf(hourRows, "@"+part+"_from::timestamptz", "@"+part+"_to::timestamptz") +
			` GROUP BY hour, action, provider, status, error_code`
	}
	return `(SELECT hour, action, provider, status, error_code, count, latency FROM push_hourly
		WHERE hour >= @rolled_from AND hour < @rolled_to UNION ALL ` + live("head") + ` UNION ALL ` + live("tail") + `) c`
}

// cellArgs are the arguments of cells for the deliveries created in [from, to). Zero times mean everything until now.
func (s *Store) cellArgs(ctx context.Context, from, to time.Time) (pgx.NamedArgs, error) {
	var first, open *time.Time
	var oldest, now time.Time
	err := s.pool.QueryRow(ctx, `SELECT (SELECT counted_from FROM push_hourly_state),
		(SELECT date_trunc('hour', counted_to) FROM push_hourly_state),
		coalesce((SELECT created_at FROM push_log ORDER BY id LIMIT 1), now()), now()`).Scan(&first, &open, &oldest, &now)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	if from.IsZero() || from.Before(oldest) {
		from = hourOf(oldest)
	}
	if to.IsZero() {
		to = now.Add(standing)
	}
	part := spans{head: [2]time.Time{from, to}, rolled: [2]time.Time{to, to}, tail: [2]time.Time{to, to}}
	if first != nil {
		part = split(from, to, *first, *open)
	}
	return pgx.NamedArgs{
		"head_from": part.head[0], "head_to": part.head[1], "rolled_from": part.rolled[0], "rolled_to": part.rolled[1],
		"tail_from": part.tail[0], "tail_to": part.tail[1],
	}, nil
}

// Stats counts the deliveries created in [from, to) by action, status, provider and error, as they stand; a zero time
// does not restrict. Whole hours gone by come from push_hourly, as they stood some minutes ago.
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

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// openMost bounds the rows that UnsentAge looks at, of each status: a gauge must not cost more the worse things are.
const openMost = 20_000

// unsentRows looks at what is neither sent nor given up, through the partial index of each status. A deferred row is
// unsent from the moment it is due.
const unsentRows = `
SELECT status, count(*), coalesce(extract(epoch FROM now() - min(since)), 0)::float8,
	coalesce(extract(epoch FROM now() - min(due)), 0)::float8
FROM (
	(SELECT status, created_at AS since, lease_until AS due FROM push_log
		WHERE status = 'sending' ORDER BY intent_at LIMIT $1)
	UNION ALL
	(SELECT status, created_at, coalesce(published_at, updated_at) FROM push_log
		WHERE status = 'queued' ORDER BY updated_at LIMIT $1)
	UNION ALL
	(SELECT status, CASE status WHEN 'failed' THEN created_at ELSE next_attempt_at END, next_attempt_at FROM push_log AS l
		WHERE status IN ('failed', 'deferred') ORDER BY l.next_attempt_at LIMIT $1)
) AS open GROUP BY status`

// Unsent is the deliveries of one status that still are to be sent, by PostgreSQL's clock.
type Unsent struct {
	Status push.Status
	Count  int           // what is beyond 20,000 rows of an index is not counted
	Oldest time.Duration // since the oldest of them was created, of deferred ones since it was due; may be below 0
	Late   time.Duration // since the first of them was due, or its lease was over; may be below 0
}

// UnsentAge counts the deliveries that still are to be sent and says how old the oldest is: the gauges that tell whether
// anything is stuck, whoever should have moved it. A status without such deliveries is not in it.
func (s *Store) UnsentAge(ctx context.Context) ([]Unsent, error) {
	rows, err := s.pool.Query(ctx, unsentRows, openMost)
	if err != nil {
		return nil, fmt.Errorf("counting unsent deliveries: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Unsent, error) {
		var u Unsent
		var oldest, late float64
		err := row.Scan(&u.Status, &u.Count, &oldest, &late)
		u.Oldest, u.Late = seconds(oldest), seconds(late)
		return u, err
	})
	if err != nil {
		return nil, fmt.Errorf("counting unsent deliveries: %w", err)
	}
	return list, nil
}

// ParkedReceipts counts the receipts that have no delivery yet, and says how old the oldest of them is.
func (s *Store) ParkedReceipts(ctx context.Context) (count int, oldest time.Duration, err error) {
	var age float64
	err = s.pool.QueryRow(ctx, `
SELECT count(*), coalesce(extract(epoch FROM now() - min(received_at)), 0)::float8
FROM (SELECT received_at FROM push_receipt WHERE next_match_at IS NOT NULL ORDER BY next_match_at LIMIT $1) AS parked`,
		openMost).Scan(&count, &age)
	if err != nil {
		return 0, 0, fmt.Errorf("counting parked receipts: %w", err)
	}
	return count, seconds(age), nil
}

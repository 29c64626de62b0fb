package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// Count is how many deliveries share what it names.
type Count struct {
	Action    push.Action
	Status    push.Status
	Provider  string // empty while none was named
	ErrorCode string // empty without error
	Count     int64
}

// Stats counts the deliveries created since then, by action, status, provider and error; the zero time counts all.
func (s *Store) Stats(ctx context.Context, since time.Time) ([]Count, error) {
	rows, err := s.pool.Query(ctx, `
SELECT action, status, coalesce(provider, ''), coalesce(error_code, ''), count(*)
FROM push_log WHERE created_at >= coalesce($1::timestamptz, '-infinity')
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`, orNull(since))
	if err != nil {
		return nil, fmt.Errorf("counting the push log: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Count])
	if err != nil {
		return nil, fmt.Errorf("counting the push log: %w", err)
	}
	return counts, nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// pruneRows looks at the next rows by id, which follow created_at, and deletes those that were settled long enough ago:
// none was settled before it was created, so no row behind the first id of that time can be among them. What is
// unfinished has no settled_at. Attempts, receipts and operators' lines go with their row. The conditions are about the
// row itself, so that one which an operator reopens meanwhile stays.
const pruneRows = `
WITH old AS (
	SELECT id FROM push_log WHERE id > @after AND id < (SELECT push_log_id_at(now() - @keep::interval))
	ORDER BY id LIMIT @limit
), gone AS (
	DELETE FROM push_log l USING old
	WHERE l.id = old.id AND l.settled_at < now() - @keep::interval AND NOT l.letter_due
	RETURNING l.id
)
SELECT (SELECT count(*) FROM gone), CASE WHEN count(*) = @limit THEN max(id) ELSE 0 END FROM old`

// Before anything of an hour is deleted, its counts are made final (push_hourly).
const pruneHours = `
UPDATE push_hourly_state SET pruned_to = date_trunc('hour', now() - @keep::interval) + interval '1 h'
WHERE pruned_to < date_trunc('hour', now() - @keep::interval) + interval '1 h'`

// Prune deletes rows that were settled longer than keep ago, and with them all that hangs on them. It looks at no more
// than limit rows behind the id after, and says behind which one to go on; 0: that was all. keep must not be shorter than
// any dedup window: a fact whose row is gone is news.
func (s *Store) Prune(ctx context.Context, after int64, limit int, keep time.Duration) (n int, next int64, err error) {
	args := pgx.NamedArgs{"after": after, "limit": limit, "keep": keep}
	if after == 0 {
		if _, err := s.pool.Exec(ctx, pruneHours, args); err != nil {
			return 0, 0, fmt.Errorf("closing the hours of old deliveries: %w", err)
		}
	}
	_, err = withoutConflict(ctx, func() (struct{}, error) {
		return struct{}{}, s.pool.QueryRow(ctx, pruneRows, args).Scan(&n, &next)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("pruning the push log: %w", err)
	}
	return n, next, nil
}

// pruneInbox begins at the oldest messages: ids follow created_at.
const pruneInbox = `
WITH old AS (SELECT id, created_at FROM inbox_message ORDER BY id LIMIT @limit)
DELETE FROM inbox_message m USING old WHERE m.id = old.id AND m.created_at < now() - @keep::interval`

// PruneInbox deletes at most limit in-app messages older than keep, read or not.
func (s *Store) PruneInbox(ctx context.Context, limit int, keep time.Duration) (int, error) {
	tag, err := s.pool.Exec(ctx, pruneInbox, pgx.NamedArgs{"limit": limit, "keep": keep})
	if err != nil {
		return 0, fmt.Errorf("pruning the inbox: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

const maxHint = 500 // characters

// hintRows keeps hints about attempts that are still in doubt, where they are news.
const hintRows = `
WITH q AS (
	SELECT * FROM unnest(@id::int8[], @attempt::int4[], @hint::text[]) AS q(id, attempt, hint)
), due AS (
	SELECT l.id, q.hint FROM push_log l JOIN q USING (id)
	WHERE l.attempt = q.attempt AND l.status = 'unknown' AND l.hint IS DISTINCT FROM q.hint
	ORDER BY l.id FOR NO KEY UPDATE OF l SKIP LOCKED
)
UPDATE push_log l SET hint = due.hint FROM due WHERE l.id = due.id`

// Hint keeps what providers told of attempts in doubt without proving them ours. It decides nothing: a row in somebody
// else's hands is passed over.
func (s *Store) Hint(ctx context.Context, hints []push.Hint) error {
	_, err := s.pool.Exec(ctx, hintRows, pgx.NamedArgs{
		"id":      column(hints, func(h push.Hint) int64 { return h.ID }),
		"attempt": column(hints, func(h push.Hint) int { return h.Attempt }),
		"hint":    column(hints, func(h push.Hint) string { return clean(h.Text, maxHint) }),
	})
	if err != nil {
		return fmt.Errorf("keeping hints: %w", err)
	}
	return nil
}

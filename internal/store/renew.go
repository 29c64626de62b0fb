package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// renewRows extends row leases (rule N1). It touches no indexed column, so that it is a HOT update.
const renewRows = `
UPDATE push_log l SET lease_until = now() + q.lease
FROM ` + heldItems + `
WHERE l.id = q.id AND ` + isSending + ` AND l.owner = q.owner AND l.attempt = q.attempt
RETURNING l.id`

// Renew extends the row leases of attempts still held: rule N1. Mine is false when the row has another owner or
// attempt, or has left sending: what has not left must not leave.
func (s *Store) Renew(ctx context.Context, held []push.Held) []push.KeyAnswer {
	return batch[push.Held, push.KeyAnswer, int64]{
		key:  func(h push.Held) int64 { return h.ID },
		fail: func(err error) push.KeyAnswer { return push.KeyAnswer{Err: err} },
		send: s.renew,
	}.run(ctx, held)
}

// renew is one round trip of Renew.
func (s *Store) renew(ctx context.Context, items []push.Held) ([]push.KeyAnswer, error) {
	mine := make(map[int64]bool, len(items))
	var b pgx.Batch
	b.Queue(lockRows, idsOf(items))
	b.Queue(renewRows, heldArgs(items)).Query(func(rows pgx.Rows) error {
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, id := range ids {
			mine[id] = true
		}
		return err
	})
	if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("renewing row leases: %w", err)
	}
	return column(items, func(h push.Held) push.KeyAnswer { return push.KeyAnswer{Mine: mine[h.ID]} }), nil
}

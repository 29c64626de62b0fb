package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// heldItems is a batch of push.Held as statements see it.
const heldItems = `unnest(@id::int8[], @owner::text[], @attempt::int4[], @lease::interval[], @resend_within::interval[],
	@max_attempts::int4[]) AS q(id, owner, attempt, lease, resend_within, max_attempts)`

// lockRows takes the rows of a batch in one order, so that the statements after it wait for nobody and cannot
// deadlock with each other.
const lockRows = `SELECT FROM push_log WHERE id = ANY ($1::int8[]) ORDER BY id FOR NO KEY UPDATE`

// readRows is the last word of rows by id, in the order asked.
const readRows = `
SELECT ` + rowColumns + noContent + `
FROM unnest($1::int8[]) WITH ORDINALITY AS q(id, ord) LEFT JOIN push_log l ON l.id = q.id
ORDER BY q.ord`

// heldArgs are the arguments of heldItems.
func heldArgs(held []push.Held) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id":            idsOf(held),
		"owner":         column(held, func(h push.Held) string { return h.Owner }),
		"attempt":       column(held, func(h push.Held) int { return h.Attempt }),
		"lease":         column(held, func(h push.Held) time.Duration { return h.Lease }),
		"resend_within": column(held, func(h push.Held) time.Duration { return h.ResendWithin }),
		"max_attempts":  column(held, func(h push.Held) int { return h.MaxAttempts }),
	}
}

// idsOf are the rows that a batch is about.
func idsOf(held []push.Held) []int64 {
	return column(held, func(h push.Held) int64 { return h.ID })
}

// ofHeld locks the rows of held attempts, changes them by one statement over heldItems, and reads their last word.
func (s *Store) ofHeld(ctx context.Context, held []push.Held, what, change string) []push.Answer {
	return batch[push.Held, push.Answer, int64]{
		key:  func(h push.Held) int64 { return h.ID },
		fail: answerError,
		send: func(ctx context.Context, items []push.Held) ([]push.Answer, error) {
			var b pgx.Batch
			b.Queue(lockRows, idsOf(items))
			b.Queue(change, heldArgs(items))
			return s.lastWord(ctx, &b, what, idsOf(items))
		},
	}.run(ctx, held)
}

// lastWord sends b with a last statement that reads the rows: one round trip, one transaction.
func (s *Store) lastWord(ctx context.Context, b *pgx.Batch, what string, ids []int64) (answers []push.Answer, err error) {
	b.Queue(readRows, ids).Query(func(rows pgx.Rows) error {
		answers, err = scanAnswers(rows)
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return answers, nil
}

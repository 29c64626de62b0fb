package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

const (
	lettersSQL = `SELECT ` + pokeColumns + `, coalesce(l.error_code, ''), coalesce(l.error_message, ''),
			l.topic, l.partition, l.offset_, l.record_time
		FROM push_log AS l WHERE l.letter_due ORDER BY l.id LIMIT @limit FOR UPDATE SKIP LOCKED`

	// A letter is no change of status: updated_at stays.
	clearLettersSQL = `UPDATE push_log SET letter_due = false WHERE id = ANY(@ids::bigint[])`
)

// Letters hands at most limit due dead letters to write and clears those that it reports as written (rule Q7). The
// rows stay locked meanwhile, so that no other pass writes the same letter, and one whose process dies is due again
// at once: a letter is written at least once. write must end by itself, and its work is noted even when ctx ends.
func (s *Store) Letters(
	ctx context.Context, limit int, write func(context.Context, []push.Letter) (done []bool, err error),
) (written int, err error) {
	var refused error // of write: no reason to forget what it did write
	noted := context.WithoutCancel(ctx)
	err = pgx.BeginFunc(noted, s.pool, func(tx pgx.Tx) error {
		letters, err := dueLetters(ctx, tx, limit)
		if err != nil || len(letters) == 0 {
			return err
		}
		var done []bool
		done, refused = write(ctx, letters)
		ids := make([]int64, 0, len(letters))
		for i, l := range letters {
			if done[i] {
				ids = append(ids, l.ID)
			}
		}
		written = len(ids)
		_, err = tx.Exec(noted, clearLettersSQL, pgx.NamedArgs{"ids": ids})
		return err
	})
	if err != nil {
		return 0, errors.Join(refused, fmt.Errorf("clearing dead letters: %w", err))
	}
	return written, refused
}

// dueLetters picks letters that no other pass has in hand; the transaction holds them.
func dueLetters(ctx context.Context, tx pgx.Tx, limit int) ([]push.Letter, error) {
	rows, err := tx.Query(ctx, lettersSQL, pgx.NamedArgs{"limit": limit})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Letter, error) {
		var l push.Letter
		o := &l.Origin
		return l, row.Scan(append(pokeTargets(&l.Poke), &l.Code, &l.Message, &o.Topic, &o.Partition, &o.Offset, &o.Time)...)
	})
}

package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// lookRows reads rows by identity; a null round means the latest.
const lookRows = `
SELECT ` + rowColumns + noContent + `
FROM unnest(@biz_type::text[], @rule_version::text[], @dedup_id::text[], @action::text[], @round::int4[]) WITH ORDINALITY
	AS q(biz_type, rule_version, dedup_id, action, round, ord)
LEFT JOIN push_log l ON ` + found + `
ORDER BY q.ord`

// Look reads what rows say and changes nothing; Row.Exists is false where there is none.
func (s *Store) Look(ctx context.Context, lookups []push.Lookup) []push.Answer {
	return batch[push.Lookup, push.Answer, string]{
		fail: answerError,
		send: func(ctx context.Context, items []push.Lookup) (answers []push.Answer, err error) {
			var b pgx.Batch
			b.Queue(lookRows, lookArgs(items)).Query(func(rows pgx.Rows) error {
				answers, err = scanAnswers(rows)
				return err
			})
			if err := s.pool.SendBatch(ctx, &b).Close(); err != nil {
				return nil, fmt.Errorf("looking at rows: %w", err)
			}
			return answers, nil
		},
	}.run(ctx, lookups)
}

// lookArgs are the arguments of lookRows.
func lookArgs(items []push.Lookup) pgx.NamedArgs {
	return pgx.NamedArgs{
		"biz_type":     column(items, func(l push.Lookup) string { return l.BizType }),
		"rule_version": column(items, func(l push.Lookup) string { return version(l.Identity) }),
		"dedup_id":     column(items, func(l push.Lookup) string { return l.DedupID }),
		"action":       column(items, func(l push.Lookup) string { return string(l.Action) }),
		"round": column(items, func(l push.Lookup) *int {
			if l.Round == 0 {
				return nil
			}
			return &l.Round
		}),
	}
}

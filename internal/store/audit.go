package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// createdIn restricts push_log l to the rows created in [@from, @to), found by id.
const createdIn = `l.id >= (SELECT push_log_id_at(@from::timestamptz - interval '2 min'))
	AND l.id < (SELECT push_log_id_at(@to::timestamptz + interval '2 min')) AND l.created_at >= @from AND l.created_at < @to`

// twiceSQL finds what the log itself shows to have been accepted twice: an attempt that was accepted before the current
// one, which was too; and receipts about more than one message that arrived.
const twiceSQL = `
SELECT l.id, l.biz_type, l.rule_version, l.dedup_id, l.action, l.round, l.possible_duplicate,
	'attempts ' || string_agg(t.attempt::text, ', ' ORDER BY t.attempt) || ' were all accepted'
FROM push_log l JOIN push_timeline t ON t.delivery_id = l.id AND t.outcome = 'accepted'
WHERE l.attempt > 1 AND ` + createdIn + `
GROUP BY l.id HAVING count(*) > 1
UNION ALL
SELECT l.id, l.biz_type, l.rule_version, l.dedup_id, l.action, l.round, l.possible_duplicate,
	'receipts say that ' || count(DISTINCT r.provider_msg_id) || ' messages arrived'
FROM push_log l JOIN push_receipt r ON r.delivery_id = l.id AND r.status = 'delivered' AND r.provider_msg_id IS NOT NULL
WHERE ` + createdIn + `
GROUP BY l.id HAVING count(DISTINCT r.provider_msg_id) > 1
ORDER BY 1`

// Twice finds deliveries created in [from, to) that the push log shows to have been accepted more than once.
func (s *Store) Twice(ctx context.Context, from, to time.Time) ([]push.Twice, error) {
	rows, err := s.pool.Query(ctx, twiceSQL, pgx.NamedArgs{"from": from, "to": to})
	if err != nil {
		return nil, fmt.Errorf("looking for what was accepted twice: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Twice, error) {
		var t push.Twice
		return t, row.Scan(&t.ID, &t.BizType, &t.RuleVersion, &t.DedupID, &t.Action, &t.Round, &t.Known, &t.What)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for what was accepted twice: %w", err)
	}
	return list, nil
}

// Strays finds in-app messages of [from, to) whose delivery is not in the push log: a row that somebody deleted.
func (s *Store) Strays(ctx context.Context, from, to time.Time) ([]push.Stray, error) {
	rows, err := s.pool.Query(ctx, `SELECT m.delivery_id, 'an in-app message', m.created_at FROM inbox_message m
		WHERE m.created_at >= $1 AND m.created_at < $2 AND NOT EXISTS (SELECT FROM push_log l WHERE l.id = m.delivery_id)
		ORDER BY m.id`, from, to)
	if err != nil {
		return nil, fmt.Errorf("looking for messages without delivery: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[push.Stray])
	if err != nil {
		return nil, fmt.Errorf("looking for messages without delivery: %w", err)
	}
	return list, nil
}

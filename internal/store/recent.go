package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// recentSQL lists each delivery once, whatever its rounds.
const recentSQL = `
(SELECT ` + identity + ` FROM push_log WHERE updated_at >= now() - @span::interval AND status <> 'sending'
	ORDER BY updated_at DESC LIMIT @limit)
UNION (SELECT ` + identity + ` FROM push_log
	WHERE status = 'queued' AND updated_at <= now() - @patience::interval
		AND coalesce(published_at, updated_at) <= now() - @patience::interval
	ORDER BY updated_at LIMIT @limit)
UNION (SELECT ` + identity + ` FROM push_log
	WHERE status IN ('failed', 'deferred') AND next_attempt_at <= now() - @patience::interval
	ORDER BY next_attempt_at LIMIT @limit)`

const identity = `biz_type, rule_version, dedup_id, action`

// Recent lists the deliveries whose key deserves a look (rule Q8): those whose row changed its status within the span,
// newest first, and those that are due or queued and have not moved for the patience; at most limit of each kind.
func (s *Store) Recent(ctx context.Context, limit int, span, patience time.Duration) ([]push.Identity, error) {
	rows, err := s.pool.Query(ctx, recentSQL, pgx.NamedArgs{"limit": limit, "span": span, "patience": patience})
	if err == nil {
		var ids []push.Identity
		ids, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Identity, error) {
			var id push.Identity
			return id, row.Scan(&id.BizType, &id.RuleVersion, &id.DedupID, &id.Action)
		})
		if err == nil {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("listing recent and overdue rows: %w", err)
}

package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

const (
	// since is when the doubt about a row began. An SMS swept from sending has no ambiguous_since, so that its own
	// owner may still prove that it never left (docs/holes.md, H13).
	since = `coalesce(ambiguous_since, intent_at)`

	// staleSending is a send whose owner has not renewed its lease for one lease more than it had.
	staleSending = `status = 'sending' AND lease_until + @lease::interval < now()`

	// harmless is a repeat that cannot double, and that the retries allow.
	harmless = `(action = 'notify' OR action = 'wechat' AND now() - ` + since + ` < @resend_within::interval) AND ` + repeatsLeft

	// dueRepeat waits a lease after the row's last move: a pusher that repeats by itself passes through unknown.
	dueRepeat = `status = 'unknown' AND action = 'wechat' AND now() - ` + since + ` < @resend_within::interval
		AND updated_at < now() - @lease::interval AND ` + repeatsLeft + ` AND ` + notExpired
)

const (
	sweepQueueSQL = pick + staleSending + ` AND ` + harmless + ` ORDER BY intent_at` + share + nextAttempt + `,
		retries_used = l.retries_used + 1, ambiguous_since = ` + doubtOfWeChat + asPoke

	sweepRestSQL = pick + staleSending + ` AND NOT (` + harmless + `) ORDER BY intent_at` + share + `
		status = CASE l.action WHEN 'notify' THEN 'dead' ELSE 'unknown' END,
		settled_at = CASE l.action WHEN 'notify' THEN now() END,
		letter_due = (l.action = 'notify'),
		error_code = CASE l.action WHEN 'notify' THEN coalesce(l.error_code, '` + codeUsedUp + `') ELSE l.error_code END,
		ambiguous_since = ` + doubtOfWeChat + `, lease_until = NULL, updated_at = now()` + asMoved

	doubtOfWeChat = `CASE l.action WHEN 'wechat' THEN coalesce(l.ambiguous_since, l.intent_at) ELSE l.ambiguous_since END`

	repeatSQL = pick + dueRepeat + ` ORDER BY ` + since + share + nextAttempt + `,
		retries_used = l.retries_used + 1` + asPoke
)

// SweepStale takes up sends that their owners have left behind (rule Q3): what can be repeated without harm is queued
// for the next attempt and returned, to be published; the rest is returned as moved: SMS and WeChat become unknown, and
// owner and attempt stay in the row, in-app with its retries used up is dead. It takes at most limit rows of either kind.
func (s *Store) SweepStale(ctx context.Context, limit int, p push.Policy) ([]push.Poke, []push.Decided, error) {
	moved, err := s.moved(ctx, "sweeping stale sends", sweepRestSQL, terms(p, limit))
	if err != nil {
		return nil, nil, err
	}
	pokes, err := s.pokes(ctx, "sweeping stale sends", sweepQueueSQL, terms(p, limit))
	return pokes, moved, err
}

// RepeatUnknown queues at most limit unknown WeChat sends again that are inside the provider's own dedup and have
// retries left; ambiguous_since stays (rule Q4).
func (s *Store) RepeatUnknown(ctx context.Context, limit int, p push.Policy) ([]push.Poke, error) {
	return s.pokes(ctx, "repeating unknown sends", repeatSQL, terms(p, limit))
}

// moved runs a statement that returns each row that it changed.
func (s *Store) moved(ctx context.Context, doing, sql string, args pgx.NamedArgs) ([]push.Decided, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Decided, error) {
		var m push.Decided
		return m, row.Scan(&m.ID, &m.BizType, &m.RuleVersion, &m.DedupID, &m.Action, &m.BizID, &m.Round, &m.Attempt, &m.Status,
			&m.Provider, &m.Code, &m.TraceID)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// The pieces of the compensator's statements. Each picks a bounded number of rows that nobody else has in hand and
// moves them in the same statement: two passes at once share the rows, and neither waits for the other or for a
// worker.
const (
	pick    = `WITH due AS (SELECT id FROM push_log WHERE `
	share   = ` LIMIT @limit FOR UPDATE SKIP LOCKED) UPDATE push_log AS l SET `
	picked  = ` FROM due WHERE l.id = due.id RETURNING `
	asPoke  = picked + pokeColumns
	asMoved = picked + `l.id, l.biz_type, l.rule_version, l.dedup_id, l.action, l.biz_id, l.round, l.attempt, l.status,
		coalesce(l.provider, ''), coalesce(l.error_code, ''), coalesce(l.trace_id, '')`

	// nextAttempt queues the next attempt; the trigger push_log_next_attempt files the one that ends.
	nextAttempt = `status = 'queued', attempt = l.attempt + 1, next_attempt_at = NULL, updated_at = now()`

	pokeColumns = `l.id, l.biz_type, l.rule_version, l.dedup_id, l.action, l.biz_id, l.round, l.attempt, l.event,
		coalesce(l.user_id, ''), coalesce(l.recipient_full, ''), coalesce(l.trace_id, '')`
)

// Guards say which rows a statement moves; a dry run counts by the same ones.
const (
	retriesLeft = `retries_used < @max_attempts`
	repeatsLeft = `retries_used + 1 < @max_attempts` // of an attempt whose end is not known: it counts, though no result has
	notExpired  = `(expires_at IS NULL OR expires_at > now())`

	dueRetry = `status IN ('failed', 'deferred') AND next_attempt_at <= now() AND ` + retriesLeft + ` AND ` + notExpired

	// The wait doubles: as long again as the message has already been out since the re-queue.
	// No publication is earlier than the re-queue, so updated_at alone finds the rows, by an index without published_at.
	dueMessage = `status = 'queued' AND updated_at <= now() - @patience::interval
		AND coalesce(published_at, updated_at) <= now() - @patience::interval
		AND (now() - published_at >= published_at - updated_at) IS NOT FALSE`
)

const (
	requeueSQL     = pick + dueRetry + ` ORDER BY next_attempt_at` + share + nextAttempt + asPoke
	requeueOnlySQL = pick + `action = @only AND ` + dueRetry + ` ORDER BY next_attempt_at` + share + nextAttempt + asPoke
	unpublishedSQL = pick + dueMessage + ` ORDER BY updated_at` + share + `published_at = now()` + asPoke

	// A row in a worker's hands is skipped: it has got its message already. The status is asked for in words that no
	// index serves, so that the rows are found by id, not by going through all that is queued.
	markPublishedSQL = `WITH due AS (
			SELECT id FROM push_log JOIN unnest(@ids::bigint[], @attempts::integer[]) AS p (pid, n)
				ON id = pid AND attempt = n
			WHERE status IS NOT DISTINCT FROM 'queued' FOR UPDATE OF push_log SKIP LOCKED)
		UPDATE push_log AS l SET published_at = now() FROM due WHERE l.id = due.id`
)

// Requeue moves at most limit rows that are failed or deferred, due, with retries left and not past expires_at to
// queued for the next attempt; ambiguous_since stays (rule Q1). only names the one channel whose rows are meant, "" all.
// What it returns is committed and to be published.
func (s *Store) Requeue(ctx context.Context, limit int, p push.Policy, only push.Action) ([]push.Poke, error) {
	args := terms(p, limit)
	if only == "" {
		return s.pokes(ctx, "re-queueing due rows", requeueSQL, args)
	}
	args["only"] = string(only)
	return s.pokes(ctx, "re-queueing due rows of "+string(only), requeueOnlySQL, args)
}

// Queued counts the rows that are queued, by channel.
func (s *Store) Queued(ctx context.Context) (map[push.Action]int, error) {
	queued := make(map[push.Action]int)
	rows, err := s.pool.Query(ctx, `SELECT action, count(*) FROM push_log WHERE status = 'queued' GROUP BY action`)
	if err != nil {
		return nil, fmt.Errorf("counting queued rows: %w", err)
	}
	var action push.Action
	var n int
	_, err = pgx.ForEachRow(rows, []any{&action, &n}, func() error {
		queued[action] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("counting queued rows: %w", err)
	}
	return queued, nil
}

// Unpublished returns at most limit queued rows whose retry message is missing, or has gone unanswered for the
// patience, which doubles each time; it notes the publication that must follow (rule Q2).
func (s *Store) Unpublished(ctx context.Context, limit int, patience time.Duration) ([]push.Poke, error) {
	return s.pokes(ctx, "picking unpublished rows", unpublishedSQL, pgx.NamedArgs{"limit": limit, "patience": patience})
}

// MarkPublished notes that the retry messages are acknowledged, where the row still waits for that very attempt.
func (s *Store) MarkPublished(ctx context.Context, pokes []push.Poke) error {
	if len(pokes) == 0 {
		return nil
	}
	ids, attempts := make([]int64, len(pokes)), make([]int, len(pokes))
	for i, p := range pokes {
		ids[i], attempts[i] = p.ID, p.Attempt
	}
	_, err := s.pool.Exec(ctx, markPublishedSQL, pgx.NamedArgs{"ids": ids, "attempts": attempts})
	if err != nil {
		return fmt.Errorf("noting published rows: %w", err)
	}
	return nil
}

// terms are the policy as the statements name it.
func terms(p push.Policy, limit int) pgx.NamedArgs {
	return pgx.NamedArgs{
		"limit":         limit,
		"max_attempts":  p.MaxAttempts,
		"lease":         p.Lease,
		"resend_within": p.ResendWithin,
		"sms_hold":      p.SMS.HoldMax,
		"wechat_hold":   p.WeChat.HoldMax,
	}
}

// pokes runs a statement that returns pokeColumns.
func (s *Store) pokes(ctx context.Context, doing, sql string, args pgx.NamedArgs) ([]push.Poke, error) {
	rows, err := s.pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	pokes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Poke, error) {
		var p push.Poke
		return p, row.Scan(pokeTargets(&p)...)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return pokes, nil
}

// pokeTargets are where pokeColumns go.
func pokeTargets(p *push.Poke) []any {
	return []any{
		&p.ID, &p.BizType, &p.RuleVersion, &p.DedupID, &p.Action, &p.BizID, &p.Round, &p.Attempt, &p.Event,
		&p.UserID, &p.Recipient, &p.TraceID,
	}
}

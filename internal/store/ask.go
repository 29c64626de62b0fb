package store

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// The backoff of asking (rule Q5): first after askFirst, then doubling up to askMost, and once more when ask_for
// ends. A short ask_for shortens the first wait to a tenth of it. However late the passes come, there are askLeast
// questions: one of them may get lost with the process that put it, or find nobody at home.
const (
	askFirst = 10 * time.Second
	askMost  = 5 * time.Minute
	askLeast = 3
)

// Guards of rule Q5.
const (
	unknownSMS = `status = 'unknown' AND action NOT IN ('notify', 'wechat')`
	nextAsk    = `coalesce(next_ask_at, ` + since + ` + @ask_first::interval)`
	askable    = `coalesce(provider = ANY(@providers::text[]), false)`

	// A question whose turn falls into ask_for is asked, however late the pass comes.
	dueQuestion = unknownSMS + ` AND ` + askable + ` AND ` + nextAsk + ` <= now()
		AND (` + nextAsk + ` <= ` + since + ` + @ask_for::interval OR ask_count < @ask_least)`

	// The last question has been asked, and its answer has had the time of the next turn to arrive.
	askedOut = `(NOT ` + askable + ` OR ask_count >= @ask_least AND next_ask_at > ` + since + ` + @ask_for::interval
		AND next_ask_at <= now())`

	dueResend = `(` + unknownSMS + ` AND @sms_resend AND now() - ` + since + ` >= @sms_resend_after::interval AND ` + askedOut + `
		OR status = 'unknown' AND action = 'wechat' AND @wechat_resend AND now() - ` + since + ` >= @wechat_resend_after::interval)
		AND ` + repeatsLeft + ` AND ` + notExpired

	// heldBack is what neither a question nor a repeat will move any more.
	heldBack = `(` + unknownSMS + ` AND now() - ` + since + ` >= @ask_for::interval AND NOT (@sms_resend AND ` + repeatsLeft + `)
		OR status = 'unknown' AND action = 'wechat' AND NOT (@wechat_resend AND ` + repeatsLeft + `)
		AND now() - ` + since + ` >= @resend_within::interval)`
)

const (
	questionsSQL = pick + dueQuestion + ` ORDER BY ` + since + share + `ask_count = l.ask_count + 1, next_ask_at = CASE
			WHEN now() < ` + sinceOfRow + ` + @ask_for::interval THEN least(` + sinceOfRow + ` + @ask_for::interval,
				now() + least(@ask_most::interval, @ask_first::interval * power(2, least(l.ask_count, 16))))
			ELSE now() + @ask_first::interval END` + picked + `l.id, l.biz_type, l.rule_version, l.dedup_id, l.action,
		l.round, l.attempt, l.provider, coalesce(l.recipient_full, ''), ` + sinceOfRow

	sinceOfRow = `coalesce(l.ambiguous_since, l.intent_at)`

	// The doubt starts anew with the new attempt; that there was one before stays in possible_duplicate.
	resendSQL = pick + dueResend + ` ORDER BY ` + since + share + nextAttempt + `, retries_used = l.retries_used + 1,
		possible_duplicate = true, ambiguous_since = NULL` + asPoke

	heldSQL = `SELECT count(*) FROM push_log WHERE ` + heldBack
)

// Questions returns at most limit unknown SMS whose provider is one of providers and whose turn to be asked about has
// come; picking one puts off its next turn, so that two passes never ask the same.
func (s *Store) Questions(ctx context.Context, limit int, p push.Policy, providers []string) ([]push.Question, error) {
	rows, err := s.pool.Query(ctx, questionsSQL, doubts(p, limit, providers))
	if err != nil {
		return nil, fmt.Errorf("picking unknown sends to ask about: %w", err)
	}
	questions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Question, error) {
		var q push.Question
		return q, row.Scan(&q.ID, &q.BizType, &q.RuleVersion, &q.DedupID, &q.Action,
			&q.Round, &q.Attempt, &q.Provider, &q.Phone, &q.IntentAt)
	})
	if err != nil {
		return nil, fmt.Errorf("picking unknown sends to ask about: %w", err)
	}
	return questions, nil
}

// Resend queues at most limit unknown sends again whose channel's policy is to resend: after ask_for, lease and
// timeout for SMS, after window, lease and timeout for WeChat, while retries are left. The row is marked
// possible_duplicate. providers are those that could be asked: their last answer is waited for.
func (s *Store) Resend(ctx context.Context, limit int, p push.Policy, providers []string) ([]push.Poke, error) {
	return s.pokes(ctx, "resending unknown sends", resendSQL, doubts(p, limit, providers))
}

// Held counts the unknown rows that wait for an operator, or for hold_max.
func (s *Store) Held(ctx context.Context, p push.Policy) (int, error) {
	var n int
	if err := s.pool.QueryRow(ctx, heldSQL, doubts(p, 0, nil)).Scan(&n); err != nil {
		return 0, fmt.Errorf("counting held sends: %w", err)
	}
	return n, nil
}

// doubts are the terms of rule Q5.
func doubts(p push.Policy, limit int, providers []string) pgx.NamedArgs {
	args := terms(p, limit)
	maps.Copy(args, pgx.NamedArgs{
		"providers":           providers,
		"ask_for":             p.SMS.AskFor,
		"ask_first":           min(askFirst, p.SMS.AskFor/10),
		"ask_most":            askMost,
		"ask_least":           askLeast,
		"sms_resend":          p.SMS.Resend,
		"sms_resend_after":    p.ResendAfter(push.SMS),
		"wechat_resend":       p.WeChat.Resend,
		"wechat_resend_after": p.ResendAfter(push.WeChat),
	})
	return args
}

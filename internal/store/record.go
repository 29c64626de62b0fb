package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// results is a batch of results as the statements of P2 to P4 see it.
const results = `unnest(@id::int8[], @owner::text[], @attempt::int4[], @class::text[], @permanent::bool[],
	@uses_retry::bool[], @provider::text[], @message_id::text[], @code::text[], @message::text[], @wait::interval[])
	AS q(id, owner, attempt, class, permanent, uses_retry, provider, message_id, code, message, wait)`

// refuseRows writes that an attempt was certainly not accepted (rules P2, P3), by its own owner only, also after the
// row was swept to unknown (hole H13). While an earlier attempt may have been accepted (ambiguous_since) that proves
// nothing for the delivery: unknown (hole H3); the repeat that may follow then counts the retry.
const refuseRows = `
UPDATE push_log l SET
	status = CASE WHEN l.ambiguous_since IS NOT NULL THEN 'unknown' WHEN q.permanent THEN 'dead' ELSE 'failed' END,
	retries_used = l.retries_used + CASE WHEN l.ambiguous_since IS NULL AND q.uses_retry THEN 1 ELSE 0 END,
	next_attempt_at = CASE WHEN l.ambiguous_since IS NULL AND NOT q.permanent THEN now() + q.wait END,
	settled_at = CASE WHEN l.ambiguous_since IS NULL AND q.permanent THEN now() END,
	letter_due = l.ambiguous_since IS NULL AND q.permanent,
	outcome = q.class, finished_at = now(), provider = coalesce(nullif(q.provider, ''), l.provider),
	error_code = nullif(q.code, ''), error_message = nullif(q.message, ''),
	lease_until = NULL, updated_at = now()
FROM ` + results + `
WHERE l.id = q.id AND l.status IN ('sending', 'unknown') AND l.owner = q.owner AND l.attempt = q.attempt`

// doubtRows writes that an attempt may have been accepted (rule P4). ambiguous_since is the intent time of the first
// such attempt and never moves (hole H4).
const doubtRows = `
UPDATE push_log l SET
	status = 'unknown', ambiguous_since = coalesce(l.ambiguous_since, l.intent_at),
	outcome = q.class, finished_at = now(), provider = coalesce(nullif(q.provider, ''), l.provider),
	provider_msg_id = nullif(q.message_id, ''),
	error_code = nullif(q.code, ''), error_message = nullif(q.message, ''),
	lease_until = NULL, updated_at = now()
FROM ` + results + `
WHERE l.id = q.id AND ` + isSending + ` AND l.owner = q.owner AND l.attempt = q.attempt`

// Record writes what became of attempts: rules P1 to P4, each row's by its class. It may be repeated until it is
// answered. The answer is the row's last word, which need not be what was recorded: an owner that lost its claim
// changes nothing but to record an acceptance, or the proof that its own attempt did not leave.
func (s *Store) Record(ctx context.Context, list []push.Result) []push.Answer {
	return batch[push.Result, push.Answer, int64]{
		key:  func(r push.Result) int64 { return r.ID },
		fail: answerError,
		send: func(ctx context.Context, items []push.Result) ([]push.Answer, error) {
			answers, err := s.recorded(ctx, items)
			if err != nil {
				return nil, fmt.Errorf("writing results: %w", err)
			}
			return answers, nil
		},
	}.run(ctx, list)
}

// recorded writes acceptances by statements that answer for the rows they move, which is nearly all; the rest is
// written, and what has not moved is read, in one transaction of its own.
func (s *Store) recorded(ctx context.Context, items []push.Result) ([]push.Answer, error) {
	accepted, inbox, doubtful, refused := byRule(items)
	moved := make(map[int64]push.Row, len(items))
	if len(accepted) > 0 {
		if err := s.accept(ctx, acceptRows, acceptedArgs(accepted), moved); err != nil {
			return nil, err
		}
	}
	if len(inbox) > 0 {
		if err := s.accept(ctx, acceptInbox, inboxArgs(inbox), moved); err != nil {
			return nil, err
		}
	}
	answers := make([]push.Answer, len(items))
	var rest []int64
	var whose []int
	for i, r := range items {
		answers[i].Row = moved[r.ID]
		if !answers[i].Row.Exists() {
			rest, whose = append(rest, r.ID), append(whose, i)
		}
	}
	if len(rest) == 0 {
		return answers, nil
	}
	var b pgx.Batch
	b.Queue(lockRows, rest)
	if len(doubtful) > 0 {
		b.Queue(doubtRows, resultArgs(doubtful))
	}
	if len(refused) > 0 {
		b.Queue(refuseRows, resultArgs(refused))
	}
	read, err := s.lastWord(ctx, &b, "changing and reading the rest", rest)
	for n, a := range read {
		answers[whose[n]] = a
	}
	return answers, err
}

// byRule parts results by the statement that writes them: P1, P1 in-app, P4, and P2 with P3.
func byRule(list []push.Result) (accepted, inbox, doubtful, refused []push.Result) {
	for _, r := range list {
		switch r.Class {
		case push.Accepted:
			if r.Inbox != nil {
				inbox = append(inbox, r)
			} else {
				accepted = append(accepted, r)
			}
		case push.NotSent, push.Throttled, push.Permanent, push.Account:
			refused = append(refused, r)
		case push.Ambiguous:
			doubtful = append(doubtful, r)
		default:
			doubtful = append(doubtful, r) // a class nobody knows proves nothing
		}
	}
	return accepted, inbox, doubtful, refused
}

// resultArgs are the arguments of results. Every text is cleaned: a result is written after the send, so nothing that
// a provider answers may get its write refused.
func resultArgs(list []push.Result) pgx.NamedArgs {
	text := func(pick func(push.Result) string) []string { return column(list, pick) }
	return pgx.NamedArgs{
		"id":         column(list, func(r push.Result) int64 { return r.ID }),
		"owner":      text(func(r push.Result) string { return r.Owner }),
		"attempt":    column(list, func(r push.Result) int { return r.Attempt }),
		"class":      text(func(r push.Result) string { return r.Class.String() }),
		"permanent":  column(list, func(r push.Result) bool { return r.Class == push.Permanent }),
		"uses_retry": column(list, func(r push.Result) bool { return r.Class.UsesRetry() }),
		"provider":   text(func(r push.Result) string { return clean(r.Provider, maxLabel) }),
		"message_id": text(func(r push.Result) string { return clean(r.MessageID, maxMessageID) }),
		"code":       text(func(r push.Result) string { return clean(r.Code, maxErrorCode) }),
		"message":    text(func(r push.Result) string { return clean(r.Message, maxErrorMessage) }),
		"wait":       column(list, func(r push.Result) time.Duration { return r.Wait }),
	}
}

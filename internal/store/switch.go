package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// switches is a batch of push.Switch as its two statements see it.
const switches = `unnest(@id::int8[], @owner::text[], @attempt::int4[], @class::text[], @code::text[], @message::text[],
	@next::text[], @lease::interval[]) AS q(id, owner, attempt, class, code, message, next, lease)`

// mayGoOn is the guard of rule P5: the attempt is out of this very claim's hands alone, its own end is known and leaves
// no doubt, none was left by an earlier one, and the event is not past its time. The row's lease needs no look: nobody
// else has taken the row, or it would not say this owner.
const mayGoOn = `l.id = q.id AND ` + isSending + ` AND l.owner = q.owner AND l.attempt = q.attempt
	AND l.ambiguous_since IS NULL AND q.class IN ('not_sent', 'throttled', 'account')
	AND coalesce(l.expires_at > now(), true)`

// Two statements, since raising attempt files the outcome that the row has by then (trigger push_log_next_attempt). No
// retry is used: what the turn comes to in the end says whether it uses one.
const (
	endRows = `
UPDATE push_log l SET outcome = q.class, finished_at = now(),
	error_code = nullif(q.code, ''), error_message = nullif(q.message, '')
FROM ` + switches + ` WHERE ` + mayGoOn

	nextRows = `
UPDATE push_log l SET attempt = l.attempt + 1, provider = nullif(q.next, ''), error_code = NULL, error_message = NULL,
	intent_at = now(), lease_until = now() + q.lease, updated_at = now()
FROM ` + switches + ` WHERE ` + mayGoOn
)

// Switch files own attempts n that certainly did not reach the recipient and makes the rows sending(n+1) with the next
// provider named: rule P5. The answer entitles to send exactly if it says sending, the same owner, and attempt n+1: a
// call whose answer got lost may be repeated and is answered the same.
func (s *Store) Switch(ctx context.Context, list []push.Switch) []push.Answer {
	return batch[push.Switch, push.Answer, int64]{
		key:  func(w push.Switch) int64 { return w.ID },
		fail: answerError,
		send: func(ctx context.Context, items []push.Switch) ([]push.Answer, error) {
			ids := column(items, func(w push.Switch) int64 { return w.ID })
			args := switchArgs(items)
			var b pgx.Batch
			b.Queue(lockRows, ids)
			b.Queue(endRows, args)
			b.Queue(nextRows, args)
			return s.lastWord(ctx, &b, "switching providers", ids)
		},
	}.run(ctx, list)
}

// switchArgs are the arguments of switches, its texts cleaned as those of any result.
func switchArgs(list []push.Switch) pgx.NamedArgs {
	text := func(pick func(push.Switch) string) []string { return column(list, pick) }
	return pgx.NamedArgs{
		"id":      column(list, func(w push.Switch) int64 { return w.ID }),
		"owner":   text(func(w push.Switch) string { return w.Owner }),
		"attempt": column(list, func(w push.Switch) int { return w.Attempt }),
		"class":   text(func(w push.Switch) string { return w.Class.String() }),
		"code":    text(func(w push.Switch) string { return clean(w.Code, maxErrorCode) }),
		"message": text(func(w push.Switch) string { return clean(w.Message, maxErrorMessage) }),
		"next":    text(func(w push.Switch) string { return clean(w.Next, maxLabel) }),
		"lease":   column(list, func(w push.Switch) time.Duration { return w.Lease }),
	}
}

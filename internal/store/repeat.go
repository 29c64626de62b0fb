package store

import (
	"context"

	"pusher/internal/push"
)

// repeatRows begins the next attempt of an ambiguous send whose provider dedups on our reference: own unknown, inside
// the window that counts from the first unresolved attempt, retries left, not past expires_at. ambiguous_since stays
// (hole H4); raising attempt files the ambiguous one.
const repeatRows = `
UPDATE push_log l SET
	status = 'sending', attempt = l.attempt + 1, retries_used = l.retries_used + 1,
	intent_at = now(), lease_until = now() + q.lease, updated_at = now()
FROM ` + heldItems + `
WHERE l.id = q.id AND ` + isUnknown + ` AND l.owner = q.owner AND l.attempt = q.attempt
	AND l.action = '` + string(push.WeChat) + `' AND l.ambiguous_since + q.resend_within > now()
	AND l.retries_used + 1 < q.max_attempts AND coalesce(l.expires_at > now(), true)`

// Repeat turns own ambiguous attempts n of a Windowed channel into sending(n+1), inside the window only: rule P4. The
// answer entitles to send exactly if it says sending, the same owner, and attempt n+1: a call whose answer got lost
// may be repeated and is answered the same.
func (s *Store) Repeat(ctx context.Context, held []push.Held) []push.Answer {
	return s.ofHeld(ctx, held, "repeating attempts", repeatRows)
}

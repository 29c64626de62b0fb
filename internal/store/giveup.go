package store

import (
	"context"

	"pusher/internal/push"
)

// Reasons that giving up leaves in error_code.
const (
	codeUsedUp         = "retries_used_up"
	codeExpired        = "expired"
	codeUnknownExpired = push.CodeUnknownExpired
)

// Guards of rule Q6; none touches sending.
const (
	usedUp     = `status IN ('failed', 'deferred') AND NOT ` + retriesLeft
	pastExpiry = `status IN ('failed', 'deferred', 'queued') AND expires_at <= now()`
	tooLong    = `status = 'unknown' AND ` + since + ` <= now() - CASE action WHEN 'wechat' THEN @wechat_hold::interval
		ELSE @sms_hold::interval END`

	// neverSent is false of a queued row, too, whose earlier attempt is unresolved or was sent again by policy.
	neverSent = `l.ambiguous_since IS NULL AND NOT l.possible_duplicate`
)

const (
	giveUp = `settled_at = now(), letter_due = true, next_attempt_at = NULL, updated_at = now(), status = 'dead', `

	// withLast keeps the last attempt's code beside its words when the reason takes its place.
	withLast = `concat_ws(': ', l.error_code, l.error_message)`

	usedUpSQL = pick + usedUp + ` ORDER BY next_attempt_at` + share + giveUp + `
		error_code = coalesce(l.error_code, '` + codeUsedUp + `')` + asMoved

	tooLongSQL = pick + tooLong + ` ORDER BY ` + since + share + giveUp + `
		error_code = '` + codeUnknownExpired + `', error_message = ` + withLast + asMoved

	expireSQL = pick + pastExpiry + ` ORDER BY expires_at` + share + `next_attempt_at = NULL, updated_at = now(),
		status = CASE WHEN ` + neverSent + ` THEN 'expired' ELSE 'unknown' END,
		settled_at = CASE WHEN ` + neverSent + ` THEN now() END,
		recipient_full = CASE WHEN ` + neverSent + ` THEN NULL ELSE l.recipient_full END,
		error_code = CASE WHEN ` + neverSent + ` THEN '` + codeExpired + `' ELSE l.error_code END,
		error_message = CASE WHEN ` + neverSent + ` THEN ` + withLast + ` ELSE l.error_message END,
		ambiguous_since = CASE WHEN ` + neverSent + ` THEN NULL
			ELSE coalesce(l.ambiguous_since, l.intent_at, l.updated_at) END` + asMoved
)

// GiveUp closes what is over (rule Q6), at most limit rows of each kind, and returns them: failed or deferred with the
// retries used up is dead; failed, deferred or queued past expires_at is expired, or unknown when an earlier attempt may
// have been sent; unknown for longer than hold_max is dead, with the code push.CodeUnknownExpired. What was moved before
// an error is returned with it.
func (s *Store) GiveUp(ctx context.Context, limit int, p push.Policy) (all []push.Decided, err error) {
	for _, sql := range []string{usedUpSQL, expireSQL, tooLongSQL} {
		moved, err := s.moved(ctx, "giving up rows", sql, terms(p, limit))
		if all = append(all, moved...); err != nil {
			return all, err
		}
	}
	return all, nil
}

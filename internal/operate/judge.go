package operate

import (
	"time"

	"pusher/internal/push"
)

// Verdict is what a verb would do to one delivery.
type Verdict string

// The verdicts. Each row of a plan has exactly one.
const (
	WouldSend   Verdict = "would_send"   // queued for the next attempt
	WouldSettle Verdict = "would_settle" // becomes sent, by the operator's word
	Expired     Verdict = "expired"      // past expires_at: never sent
	HeldBack    Verdict = "held_back"    // the verb fits, and something stands in its way
	NotAllowed  Verdict = "not_allowed"  // the verb does not fit its status
)

// judgement is a verdict with its reason.
type judgement struct {
	verdict   Verdict
	reason    string // why not; empty for what would be done
	moves     bool   // the row is changed
	mayDouble bool   // would be sent, although it may have been before
}

// Reasons why a row stays as it is.
const (
	reasonOvertaken = "a later round of this delivery exists"
	reasonErased    = "recipient erased: there is nobody to send to"
	reasonDoubt     = "may have been sent: find out and resolve it, or resolve --resend"
	reasonExpired   = "past its expires_at"
)

// judge says what a verb would do to a delivery. The statements of the store guard each row by the same rules.
func judge(v push.Verb, c push.Candidate, now time.Time) judgement {
	if why := unfit(v, c); why != "" {
		return judgement{verdict: NotAllowed, reason: why}
	}
	over := !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(now)
	switch {
	case c.Overtaken:
		return judgement{verdict: HeldBack, reason: reasonOvertaken}
	case v == push.ResolveSent:
		return judgement{verdict: WouldSettle, moves: true}
	case v == push.Requeue && c.Status == push.Dead && c.InDoubt():
		return judgement{verdict: HeldBack, reason: reasonDoubt}
	case over && v == push.ResolveNotSent && c.Status == push.Unknown && c.RecipientKept:
		return judgement{verdict: Expired, reason: reasonExpired, moves: true} // by rule Q6, once it is queued
	case over:
		return judgement{verdict: Expired, reason: reasonExpired}
	case !c.RecipientKept:
		return judgement{verdict: HeldBack, reason: reasonErased}
	}
	return judgement{verdict: WouldSend, moves: true, mayDouble: v != push.ResolveNotSent && c.InDoubt()}
}

// unfit says why a verb makes no sense for a row; empty when it does.
func unfit(v push.Verb, c push.Candidate) string {
	givenUp := c.Status == push.Dead && c.InDoubt()
	switch v {
	case push.Requeue:
		if c.Status == push.Dead || c.Status == push.Failed {
			return ""
		}
	case push.ResolveSent:
		if givenUp {
			return "was given up, and has its dead letter"
		}
		fallthrough
	case push.ResolveNotSent, push.ResolveResend:
		if c.Status == push.Unknown || givenUp {
			return ""
		}
	}
	return stands(c.Status)
}

// stands says why a row of this status is not for an operator's verb.
func stands(s push.Status) string {
	switch s {
	case push.Sent, push.Delivered, push.Undelivered:
		return "was sent: the provider took it"
	case push.Queued:
		return "is queued already"
	case push.Sending:
		return "is being sent"
	case push.Deferred:
		return "waits for its not_before"
	case push.Expired:
		return reasonExpired
	case push.Skipped:
		return "is never sent, by rule"
	case push.Unknown:
		return "may have been sent: use resolve"
	case push.Failed:
		return "was certainly not sent, and comes again by itself: there is nothing to resolve"
	case push.Dead:
		return "was certainly not sent: use requeue"
	}
	return "has a status that nobody knows"
}

// fits are the statuses that a verb is for: those that a filter means when it names none.
func fits(v push.Verb) []push.Status {
	switch v {
	case push.Requeue:
		return []push.Status{push.Dead, push.Failed}
	case push.ResolveSent:
		return []push.Status{push.Unknown}
	case push.ResolveNotSent, push.ResolveResend:
		return []push.Status{push.Unknown, push.Dead}
	}
	return nil
}

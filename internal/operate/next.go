package operate

import (
	"fmt"
	"strings"
	"time"

	"pusher/internal/push"
)

// Means says in words what a delivery's status says (docs/contract.md, section 5).
func Means(e push.Entry) string {
	switch e.Status {
	case push.Sending:
		return fmt.Sprintf("attempt %d may be going out now", e.Attempt)
	case push.Sent:
		if e.Action == push.Notify {
			return "it is in the inbox"
		}
		return "the provider took it"
	case push.Delivered:
		return "a receipt says that it arrived"
	case push.Undelivered:
		return "the provider took it, and a receipt says that it did not arrive"
	case push.Failed:
		return fmt.Sprintf("attempt %d certainly did not reach the recipient", e.Attempt)
	case push.Queued:
		return fmt.Sprintf("re-enqueued for attempt %d, waiting for a pusher", e.Attempt)
	case push.Deferred:
		return "not yet: it waits for its not_before"
	case push.Unknown:
		return fmt.Sprintf("attempt %d may have reached the recipient; nobody sends again until that is known", e.Attempt)
	case push.Dead:
		return "given up"
	case push.Expired:
		return "its expires_at is past; never sent"
	case push.Skipped:
		return "never sent, by rule"
	}
	return ""
}

// Next says what will happen to a delivery by itself (docs/contract.md, section 5), and what a person can do where
// nothing will; stopped says that its account is.
func (d *Desk) Next(e push.Entry, stopped bool) string {
	now := d.cfg.Now()
	switch e.Status {
	case push.Sending:
		return "its pusher writes the outcome; once its lease is over (" + at(e.LeaseUntil, now) + "), another worker or the compensator takes it up"
	case push.Failed, push.Deferred:
		if e.RetriesUsed >= d.cfg.Policy.MaxAttempts {
			return "its retries are used up: the compensator gives it up and writes a dead letter"
		}
		says := "the compensator re-enqueues it after " + at(e.NextAttemptAt, now)
		if stopped {
			says = "mend the account at the provider, by the error above; until then each attempt ends so, and none counts as a retry; " + says
		}
		return says
	case push.Queued:
		return fmt.Sprintf("the pusher sends attempt %d when it reads the retry topic; the compensator publishes it again until then", e.Attempt)
	case push.Unknown:
		return d.afterUnknown(e, now)
	case push.Sent:
		return "nothing: it is done; a receipt may say more"
	case push.Dead:
		if e.LetterDue {
			return "the compensator writes its dead letter; then nothing by itself"
		}
		by := "pusher log requeue sends it once more, when its cause is mended"
		if e.InDoubt() {
			by = "it may have been sent: pusher log resolve sends it once more, when that is known or risked"
		}
		return "nothing by itself: its dead letter is on " + d.cfg.DeadLetterTopic + "; " + by
	case push.Delivered, push.Undelivered, push.Expired, push.Skipped:
	}
	return "nothing: it is settled; the same fact is news again after its window"
}

// afterUnknown says who resolves a send whose outcome is not known. Doubt counts from the first attempt in doubt.
func (d *Desk) afterUnknown(e push.Entry, now time.Time) string {
	policy := d.cfg.Policy
	since := e.AmbiguousSince
	if since.IsZero() {
		since = e.UpdatedAt
	}
	if e.Action == push.WeChat {
		return fmt.Sprintf("repeated with the same id until %s, while WeChat remembers it; then %s",
			at(since.Add(policy.ResendWithin), now), decided(policy.WeChat, since, now))
	}
	asked := since.Add(policy.SMS.AskFor)
	after := decided(policy.SMS, since, now)
	if now.After(asked) {
		return after
	}
	return fmt.Sprintf("the provider, where it can be asked, is asked until %s; then %s", at(asked, now), after)
}

// decided says what when_unknown makes of it.
func decided(by push.Doubt, since, now time.Time) string {
	if by.Resend {
		return "it is sent again, as a possible duplicate"
	}
	return "it is held for an operator (ask the provider by the reference, then pusher log resolve), and given up after " +
		at(since.Add(by.HoldMax), now)
}

// at is a time and how far it is from now; "?" when it is not set.
func at(t, now time.Time) string {
	switch left := t.Sub(now); {
	case t.IsZero():
		return "?"
	case left <= 0:
		return fmt.Sprintf("%s, %s ago", t.UTC().Format(time.DateTime), Span(-left))
	default:
		return fmt.Sprintf("%s, in %s", t.UTC().Format(time.DateTime), Span(left))
	}
}

// Span is a duration to the second, from an hour on to the minute, without the parts that are nought.
func Span(d time.Duration) string {
	precision := time.Second
	if d >= time.Hour {
		precision = time.Minute
	}
	text := d.Round(precision).String()
	if trimmed, ok := strings.CutSuffix(text, "m0s"); ok {
		text = trimmed + "m"
	}
	if trimmed, ok := strings.CutSuffix(text, "h0m"); ok {
		text = trimmed + "h"
	}
	return text
}

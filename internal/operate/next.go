package operate

import (
	"fmt"
	"strings"
	"time"

	"pusher/internal/push"
)

// Means says in words what a delivery's status says (docs/contract.md, section 5).
func Means(e push.Entry) Phrase {
	switch e.Status {
	case push.Sending:
		return say("attempt %d may be going out now", e.Attempt)
	case push.Sent:
		if e.Action == push.Notify {
			return say("it is in the inbox")
		}
		return say("the provider took it")
	case push.Delivered:
		return say("a receipt says that it arrived")
	case push.Undelivered:
		return say("the provider took it, and a receipt says that it did not arrive")
	case push.Failed:
		return say("attempt %d certainly did not reach the recipient", e.Attempt)
	case push.Queued:
		return say("re-enqueued for attempt %d, waiting for a pusher", e.Attempt)
	case push.Deferred:
		return say("not yet: it waits for its not_before")
	case push.Unknown:
		return say("attempt %d may have reached the recipient; nobody sends again until that is known", e.Attempt)
	case push.Dead:
		return say("given up")
	case push.Expired:
		return say("its expires_at is past; never sent")
	case push.Skipped:
		return say("never sent, by rule")
	}
	return Phrase{}
}

// Next says what will happen to a delivery by itself (docs/contract.md, section 5), and what a person can do where
// nothing will; stopped says that its account is.
func (d *Desk) Next(e push.Entry, stopped bool) Phrase {
	switch e.Status {
	case push.Sending:
		return say("its pusher writes the outcome; once its lease is over (%s), another worker or the compensator takes it up", e.LeaseUntil)
	case push.Failed, push.Deferred:
		if e.RetriesUsed >= d.cfg.Policy.MaxAttempts {
			return say("its retries are used up: the compensator gives it up and writes a dead letter")
		}
		says := say("the compensator re-enqueues it after %s", e.NextAttemptAt)
		if stopped {
			says = say("mend the account at the provider, by the error above; until then each attempt ends so, and none counts as a retry; %s", says)
		}
		return says
	case push.Queued:
		return say("the pusher sends attempt %d when it reads the retry topic; the compensator publishes it again until then", e.Attempt)
	case push.Unknown:
		return d.afterUnknown(e)
	case push.Sent:
		return say("nothing: it is done; a receipt may say more")
	case push.Dead:
		if e.LetterDue {
			return say("the compensator writes its dead letter; then nothing by itself")
		}
		by := say("pusher log requeue sends it once more, when its cause is mended")
		if e.InDoubt() {
			by = say("it may have been sent: pusher log resolve sends it once more, when that is known or risked")
		}
		return say("nothing by itself: its dead letter is on %s; %s", d.cfg.DeadLetterTopic, by)
	case push.Delivered, push.Undelivered, push.Expired, push.Skipped:
	}
	return say("nothing: it is settled; the same fact is news again after its window")
}

// afterUnknown says who resolves a send whose outcome is not known. Doubt counts from the first attempt in doubt.
func (d *Desk) afterUnknown(e push.Entry) Phrase {
	policy := d.cfg.Policy
	since := e.AmbiguousSince
	if since.IsZero() {
		since = e.UpdatedAt
	}
	if e.Action == push.WeChat {
		return say("repeated with the same id until %s, while WeChat remembers it; then %s",
			since.Add(policy.ResendWithin), decided(policy.WeChat, since))
	}
	asked := since.Add(policy.SMS.AskFor)
	after := decided(policy.SMS, since)
	if d.cfg.Now().After(asked) {
		return after
	}
	return say("the provider, where it can be asked, is asked until %s; then %s", asked, after)
}

// decided says what when_unknown makes of it.
func decided(by push.Doubt, since time.Time) Phrase {
	if by.Resend {
		return say("it is sent again, as a possible duplicate")
	}
	return say("it is held for an operator (ask the provider by the reference, then pusher log resolve), and given up after %s",
		since.Add(by.HoldMax))
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

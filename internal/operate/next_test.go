package operate

import (
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

// policy is the contract's defaults.
func policy() push.Policy {
	return push.Policy{
		MaxAttempts: 8, Lease: 30 * time.Second, ResendWithin: 9 * time.Minute,
		SMS:    push.Doubt{AskFor: 15 * time.Minute, Timeout: 5 * time.Second, HoldMax: 72 * time.Hour},
		WeChat: push.Doubt{Timeout: 5 * time.Second, HoldMax: 72 * time.Hour},
	}
}

// deskAt is a desk at that time, with nothing behind it.
func deskAt(now time.Time, p push.Policy) *Desk {
	return New(Config{
		Policy: p, RetryTopic: "push-events-retry", DeadLetterTopic: "push-events-dlq", Region: "CN",
		Now: func() time.Time { return now },
	}, Ports{})
}

func TestEveryStatusSaysWhatItMeansAndWhatHappensNext(t *testing.T) {
	t.Parallel()
	desk, seen := deskAt(time.Now(), policy()), map[string]push.Status{}
	for _, status := range push.Statuses() {
		e := push.Entry{Status: status, Identity: push.Identity{Action: push.SMS}}
		says := desk.Next(e, false).English(time.Now())
		if says == "" || Means(e).English(time.Now()) == "" {
			t.Errorf("%s: nothing is said", status)
		}
		seen[says] = status
	}
	if len(seen) < 7 {
		t.Errorf("only %d different words: %v", len(seen), seen)
	}
}

func TestWhatHappensNextSaysWhenAndWhoMustAct(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	sms, wechat := push.Identity{Action: push.SMS}, push.Identity{Action: push.WeChat}
	resend := policy()
	resend.SMS.Resend = true
	cases := map[string]struct {
		entry   push.Entry
		stopped bool
		policy  push.Policy
		says    string
	}{
		"retries used up": {push.Entry{Status: push.Failed, RetriesUsed: 8}, false, policy(), "used up: the compensator gives it up"},
		"due soon":        {push.Entry{Status: push.Failed, NextAttemptAt: now.Add(90 * time.Second)}, false, policy(), "re-enqueues it after 2026-01-02 03:01:30, in 1m30s"},
		"due":             {push.Entry{Status: push.Failed, NextAttemptAt: now.Add(-time.Hour)}, false, policy(), "after 2026-01-02 02:00:00, 1h ago"},
		"account":         {push.Entry{Status: push.Failed, NextAttemptAt: now}, true, policy(), "mend the account at the provider"},
		"letter due":      {push.Entry{Status: push.Dead, LetterDue: true}, false, policy(), "writes its dead letter"},
		"letter written":  {push.Entry{Status: push.Dead}, false, policy(), "push-events-dlq; pusher log requeue"},
		"given up":        {push.Entry{Status: push.Dead, ErrorCode: "unknown_expired"}, false, policy(), "may have been sent: pusher log resolve"},
		"asked":           {push.Entry{Status: push.Unknown, Identity: sms, UpdatedAt: now}, false, policy(), "asked until 2026-01-02 03:15:00, in 15m; then it is held"},
		"held":            {push.Entry{Status: push.Unknown, Identity: sms, AmbiguousSince: now.Add(-time.Hour)}, false, policy(), "it is held for an operator (ask the provider by the reference, then pusher log resolve), and given up after 2026-01-05 02:00:00, in 71h"},
		"resent":          {push.Entry{Status: push.Unknown, Identity: sms, UpdatedAt: now}, false, resend, "then it is sent again, as a possible duplicate"},
		"wechat":          {push.Entry{Status: push.Unknown, Identity: wechat, AmbiguousSince: now}, false, policy(), "repeated with the same id until 2026-01-02 03:09:00, in 9m"},
		"no lease":        {push.Entry{Status: push.Sending}, false, policy(), "(?)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if says := deskAt(now, tc.policy).Next(tc.entry, tc.stopped).English(now); !strings.Contains(says, tc.says) {
				t.Errorf("got %q, want %q", says, tc.says)
			}
		})
	}
}

func TestAccountStopIsThatOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	stop, other := push.Attempt{Outcome: "account"}, push.Attempt{Outcome: "not_sent"}
	if stopped(nil) || stopped([]push.Attempt{stop, other}) || !stopped([]push.Attempt{other, stop}) {
		t.Error("an account stop is found where there is none, or not where it is")
	}
}

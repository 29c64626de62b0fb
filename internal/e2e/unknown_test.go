package e2e

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// answerless makes Tencent the SMS provider, which takes everything and never answers.
func answerless(t *testing.T, context bool) *system {
	t.Helper()
	s := newSystemWith(t, 1, provider.Config{Queries: provider.Queries{Context: context}})
	byTencent(s)
	s.cfg.Channels.SMS.AskFor = 5 * time.Second
	s.faults(provider.Fault{Provider: provider.Tencent, Kind: provider.AcceptThenReset})
	return s
}

// TestAmbiguous_TencentFindsOnlyOurOwn: an account whose reports carry our reference is believed.
func TestAmbiguous_TencentFindsOnlyOurOwn(t *testing.T) {
	t.Parallel()
	s := answerless(t, true)
	s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.settled(1, push.Unknown)
	s.eventually("found", func() bool { return s.pass().Found == 1 })
	s.settled(1, push.Sent)
	s.accepted(1)
	if got := s.number(`SELECT count(*) FROM push_log WHERE provider_msg_id <> ''`); got != 1 {
		t.Error("the provider's id was not taken over")
	}
}

// TestAmbiguous_SMSIsHeld: an account whose reports are nobody's is asked with backoff, in vain; the row is held and
// its age shown, then given up with a letter. Nothing is sent again.
func TestAmbiguous_SMSIsHeld(t *testing.T) {
	t.Parallel()
	s := answerless(t, false)
	s.cfg.Channels.SMS.HoldMax = 9 * time.Second
	p, _ := s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.settled(1, push.Unknown)
	s.eventually("its age is shown", func() bool { return metric(t, p.Addr(), "pusher_unknown_oldest_seconds") > 1 })
	if got := metric(t, p.Addr(), "pusher_unknown_deliveries"); got != 1 {
		t.Errorf("%v unknown deliveries are shown, want 1", got)
	}
	held := 0
	s.eventually("given up", func() bool {
		sum := s.pass()
		held = max(held, sum.Held)
		return s.statuses()["sms dead"] == 1
	})
	if held != 1 {
		t.Error("no pass said that it is held")
	}
	if got := s.number(`SELECT count(*) FROM push_log WHERE hint LIKE 'tencent reports 1 to this number without a reference%'`); got != 1 {
		t.Error("nobody is told what the provider reports of the number")
	}
	if asked := s.sandbox.Requests(provider.Tencent, provider.CallQuery); asked < 2 || asked > 6 {
		t.Errorf("asked %d times in %v: that is no backoff", asked, s.cfg.Channels.SMS.AskFor)
	}
	letter := s.deadLetters(1)[0]
	if !strings.Contains(string(letter.Value), "unknown_expired") {
		t.Errorf("the letter does not say why: %s", letter.Value)
	}
	s.accepted(1)
	s.eventually("no age is left", func() bool { return metric(t, p.Addr(), "pusher_unknown_oldest_seconds") == 0 })
}

// TestAmbiguous_SMSIsSentAgainByPolicy: with when_unknown: resend it is, once ask_for, lease and timeout are over, and
// marked.
func TestAmbiguous_SMSIsSentAgainByPolicy(t *testing.T) {
	t.Parallel()
	s := answerless(t, false)
	s.cfg.Channels.SMS.WhenUnknown = config.Resend
	s.faults(provider.Fault{Provider: provider.Tencent, Each: 1, Kind: provider.AcceptThenReset})
	s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.settled(1, push.Unknown)
	s.eventually("sent again", func() bool { s.pass(); return s.statuses()["sms sent"] == 1 })
	if got := s.number(`SELECT count(*) FROM push_log WHERE possible_duplicate AND attempt = 2`); got != 1 {
		t.Error("the row is not marked")
	}
	entries := s.sandbox.Journal().Entries()
	if len(entries) != 2 {
		t.Fatalf("%d accepted sends, want the policy's two", len(entries))
	}
	early := s.cfg.Channels.SMS.AskFor + s.cfg.Dedup.Lease
	if gap := entries[1].Time.Sub(entries[0].Time); gap < early {
		t.Errorf("sent again after %v, before ask_for and the lease (%v)", gap, early)
	}
}

// TestAmbiguous_WeChatRepeatsInsideTheWindow: the same client_msg_id again, and the provider takes it once.
func TestAmbiguous_WeChatRepeatsInsideTheWindow(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.patient()
	s.faults(provider.Fault{Provider: provider.WeChat, Each: 1, Kind: provider.AcceptThenReset})
	s.run()
	const n = 10
	for i := range n {
		s.write(event(i, `"actions":["wechat"],`))
	}
	s.eventually("all sent", func() bool { s.pass(); return s.statuses()["wechat sent"] == n })
	s.accepted(n)
	if got := s.sandbox.Requests(provider.WeChat, provider.CallSend); got != 2*n {
		t.Errorf("%d requests, want each twice", got)
	}
}

// TestAmbiguous_WeChatOutsideTheWindowIsNotRepeated: the window counts from the first attempt, however many follow.
func TestAmbiguous_WeChatOutsideTheWindowIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.cfg.Channels.WeChat.ResendWithin = 4 * time.Second
	s.cfg.Retry.MaxAttempts = 100
	s.faults(provider.Fault{Provider: provider.WeChat, Kind: provider.AcceptThenReset})
	s.run()
	s.write(event(1, `"actions":["wechat"],`))
	s.settled(1, push.Unknown)
	s.eventually("the window over", func() bool {
		s.pass()
		return s.number(`SELECT count(*) FROM push_log WHERE status = 'unknown' AND now() - ambiguous_since > interval '4 s'`) == 1
	})
	requests := s.sandbox.Requests(provider.WeChat, provider.CallSend)
	for range 3 {
		s.pass()
	}
	s.caughtUp()
	if got := s.sandbox.Requests(provider.WeChat, provider.CallSend); got != requests || requests < 2 {
		t.Errorf("%d requests, of which %d after the window", got, got-requests)
	}
	if got := s.number(`SELECT count(*) FROM push_timeline WHERE started_at - (SELECT ambiguous_since FROM push_log) > interval '4 s'`); got != 0 {
		t.Errorf("%d attempts began outside the window of the first", got)
	}
	s.accepted(1)
}

// TestAmbiguous_InAppRepeatsInItsTransaction: its commit goes through and nobody hears of it; there is one message.
func TestAmbiguous_InAppRepeatsInItsTransaction(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	l, through := s.postgresLine()
	l.losing(everyNth(2, "INSERT INTO inbox_message"))
	s.runOn(through)
	const n = 10
	for i := range n {
		s.write(event(i, `"actions":["notify"],`))
	}
	s.settled(n, push.Sent)
	if got := s.number(`SELECT count(*) FROM inbox_message`); got != n {
		t.Errorf("%d in-app messages, want %d", got, n)
	}
}

// metric reads one metric without labels from a pusher; -1 while it is not shown.
func metric(t *testing.T, addr, name string) float64 {
	t.Helper()
	target := url.URL{Scheme: "http", Host: addr, Path: "/metrics"}
	_, body := get(t, target.String())
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return -1
}

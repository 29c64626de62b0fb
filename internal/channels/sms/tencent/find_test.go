package tencent_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/channels/channeltest"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// question is about an unknown send to the tests' recipient.
func question() push.Question {
	return push.Question{
		Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: push.SMS},
		Round:    1, Attempt: 1, Provider: "tencent", Phone: message().Recipient, IntentAt: time.Now(),
	}
}

// Only a row whose SessionContext is our reference is a find: not another message of the same number, and none at all
// from an account without the context.
func TestFindCountsOnlyOurReference(t *testing.T) {
	t.Parallel()
	q := question()
	for name, c := range map[string]struct {
		context   bool
		reference string
		want      bool
	}{
		"ours":                    {true, q.Reference(1), true},
		"another message":         {true, q.Reference(2), false},
		"account without context": {false, q.Reference(1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Queries: provider.Queries{Context: c.context}})
			s := newSender(t, config(box.URL()))
			m := message()
			m.Reference = c.reference
			sent, err := s.Send(context.Background(), m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Find(context.Background(), q)
			if err != nil || got.Found != c.want || c.want && got.MessageID != sent.MessageID {
				t.Errorf("found %+v, %v; want %v", got, err, c.want)
			}
			hint := strings.Contains(got.Hint, "tencent reports 1 to this number without a reference") &&
				strings.Contains(got.Hint, sent.MessageID+" SUCCESS DELIVRD, 20")
			if hint != (c.reference == q.Reference(1) && !c.context) {
				t.Errorf("hint %q", got.Hint)
			}
			if n := box.Requests(provider.Tencent, provider.CallQuery); n != 1 {
				t.Errorf("%d questions for one", n)
			}
		})
	}
}

// Tencent tells nothing that is older than seven days, and refuses to be asked about it.
func TestFindAsksNoFurtherBackThanTencentTells(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Queries: provider.Queries{Context: true}})
	s := newSender(t, config(box.URL()))
	q := question()
	m := message()
	m.Reference = q.Reference(1)
	if _, err := s.Send(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	q.IntentAt = time.Now().Add(-30 * 24 * time.Hour)
	if got, err := s.Find(context.Background(), q); err != nil || !got.Found {
		t.Errorf("found %+v, %v", got, err)
	}
}

// Tencent allows 20 questions a second: however many ask at once, they take turns.
func TestFindStaysWithinTwentyASecond(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	s := newSender(t, config(box.URL()))
	const asks = 21
	began := time.Now()
	var all sync.WaitGroup
	for range asks {
		all.Go(func() {
			if _, err := s.Find(context.Background(), question()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took < time.Second {
		t.Errorf("%d questions in %v", asks, took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Find(ctx, question()); err == nil {
		t.Error("a question without time for it is no error")
	}
}

func TestFindErrorsAreCleanAndNoAnswer(t *testing.T) {
	t.Parallel()
	phone := message().Recipient
	for name, f := range map[string]provider.Fault{
		"refused":    {Kind: provider.Refuse, Code: "RequestLimitExceeded", Message: "too fast for " + phone},
		"no answer":  {Kind: provider.Reset},
		"unreadable": {Kind: provider.Answer, Body: "<html>" + phone},
		"empty":      {Kind: provider.Answer, Body: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.Call = provider.CallQuery
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{f}})
			got, err := newSender(t, config(box.URL())).Find(context.Background(), question())
			if err == nil || got.Found || got.Hint != "" {
				t.Fatalf("found %+v, %v", got, err)
			}
			if strings.Contains(err.Error(), phone[3:]) {
				t.Errorf("%v shows the phone", err)
			}
		})
	}
}

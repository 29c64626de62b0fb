package channels

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"pusher/internal/push"
)

// scripted is a sender that answers as told and counts its calls.
type scripted struct {
	mu    sync.Mutex // guards all below
	err   error
	calls int
}

func (s *scripted) Send(context.Context, push.Message) (push.Acceptance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return push.Acceptance{Provider: "p"}, s.err
}

func (s *scripted) Provider() string   { return "p" }
func (s *scripted) Serves(string) bool { return true }
func (s *scripted) Close()             {}

func (s *scripted) answer(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// gated is a gate, a sender behind it, and a clock that the test moves.
type gated struct {
	*Gate

	sender *scripted
	at     time.Time
}

func newGated() *gated {
	g := &gated{sender: new(scripted), at: time.Now()}
	g.Gate = NewGate(func() time.Time { return g.at })
	return g
}

// Send sends a message unless the gate is shut for it.
func (g *gated) Send(ctx context.Context, m push.Message) (push.Acceptance, error) {
	if f := g.shut(m); f != nil {
		return push.Acceptance{}, f
	}
	accepted, err := g.sender.Send(ctx, m)
	g.learn(m, err)
	return accepted, err
}

// send sends n messages of a push and returns the last error and how many calls reached the sender.
func (g *gated) send(n int, bizType string) (err error, calls int) { //nolint:revive,staticcheck // reads as it is checked
	before := g.sender.calls
	for range n {
		_, err = g.Send(context.Background(), push.Message{BizType: bizType})
	}
	return err, g.sender.calls - before
}

// While a stop waits its sender is passed over; when the wait is over somebody must come to probe, and only one.
func TestHealthIsWhetherAMessageWouldPass(t *testing.T) {
	t.Parallel()
	g := newGated()
	healthy := func(want bool) {
		t.Helper()
		if got := g.Healthy("viewed"); got != want {
			t.Errorf("healthy %t, want %t", got, want)
		}
	}
	healthy(true)
	g.sender.answer(&push.Failure{Class: push.Account, Scope: push.ScopeAccount, Wait: time.Minute})
	_, _ = g.send(1, "viewed")
	healthy(false)
	g.at = g.at.Add(time.Minute)
	healthy(true)
	if g.shut(push.Message{BizType: "viewed"}) != nil {
		t.Fatal("the probe was kept back")
	}
	healthy(false)
}

func TestGateShutsForWhatAStopConcerns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure     push.Failure
		same, other int // calls of ten messages of the same push, then of ten of another
	}{
		"account":                {push.Failure{Class: push.Account, Scope: push.ScopeAccount, Wait: 5 * time.Minute}, 1, 0},
		"account's quota":        {push.Failure{Class: push.Throttled, Scope: push.ScopeAccount, Wait: time.Hour}, 1, 0},
		"channel's day":          {push.Failure{Class: push.Throttled, Scope: push.ScopeChannel, Wait: time.Hour}, 1, 0},
		"channel, briefly":       {push.Failure{Class: push.Throttled, Scope: push.ScopeChannel, Wait: 5 * time.Second}, 10, 10},
		"template, three times":  {push.Failure{Class: push.Account, Scope: push.ScopeTemplate, Wait: 5 * time.Minute}, 3, 3},
		"template until morning": {push.Failure{Class: push.Throttled, Scope: push.ScopeTemplate, Wait: 9 * time.Hour}, 1, 1},
		"recipient":              {push.Failure{Class: push.Throttled, Scope: push.ScopeRecipient, Wait: 24 * time.Hour}, 10, 10},
		"message":                {push.Failure{Class: push.Permanent}, 10, 10},
		"not sent":               {push.Failure{Class: push.NotSent, Scope: push.ScopeChannel}, 10, 10},
		"ambiguous":              {push.Failure{Class: push.Ambiguous}, 10, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated()
			g.sender.answer(&c.failure)
			err, same := g.send(10, "a")
			_, other := g.send(10, "b")
			if same != c.same || other != c.other {
				t.Errorf("%d and %d calls, want %d and %d", same, other, c.same, c.other)
			}
			if f := push.FailureOf(err); f.Class != c.failure.Class || f.Scope != c.failure.Scope || f.Wait > c.failure.Wait {
				t.Errorf("kept back with %+v, want %+v", f, c.failure)
			}
		})
	}
}

// FieldReport27: a stop pauses its scope, keeps what waits, and probes its way back.
func TestFieldReport27_GateProbesItsWayBack(t *testing.T) {
	t.Parallel()
	g := newGated()
	stopped := &push.Failure{Class: push.Account, Scope: push.ScopeAccount, Code: "isv.AMOUNT_NOT_ENOUGH", Wait: 5 * time.Minute}
	g.sender.answer(stopped)
	g.send(1, "a")
	g.at = g.at.Add(4 * time.Minute)
	if err, calls := g.send(100, "a"); calls != 0 || push.FailureOf(err).Wait != time.Minute || push.FailureOf(err).Class.UsesRetry() {
		t.Errorf("%d calls inside the wait, %v", calls, err)
	}
	g.at = g.at.Add(time.Minute)
	if _, calls := g.send(100, "b"); calls != 1 {
		t.Errorf("%d probes after the wait, want one", calls)
	}
	g.at = g.at.Add(5 * time.Minute)
	g.sender.answer(&push.Failure{Class: push.Ambiguous, Code: "timeout"})
	if _, calls := g.send(100, "a"); calls != 1 {
		t.Errorf("%d probes, want one: no answer says nothing", calls)
	}
	g.at = g.at.Add(probeMost)
	g.sender.answer(nil)
	if err, calls := g.send(100, "a"); calls != 100 || err != nil {
		t.Errorf("%d calls, %v after the stop was over; want all", calls, err)
	}
}

func TestGateForgetsSingleRefusalsOfATemplate(t *testing.T) {
	t.Parallel()
	g := newGated()
	for range 20 { // two refusals, then an acceptance, again and again
		g.sender.answer(&push.Failure{Class: push.Account, Scope: push.ScopeTemplate, Code: "40037", Wait: 5 * time.Minute})
		g.send(2, "a")
		g.sender.answer(nil)
		if err, calls := g.send(1, "a"); err != nil || calls != 1 {
			t.Fatalf("%v, %d calls", err, calls)
		}
	}
}

func TestGateUnderMany(t *testing.T) {
	t.Parallel()
	g := newGated()
	g.sender.answer(&push.Failure{Class: push.Account, Scope: push.ScopeAccount, Code: "x", Wait: time.Minute})
	g.send(1, "a")
	g.at = g.at.Add(time.Hour)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := g.Send(context.Background(), push.Message{BizType: "a"}); !errors.As(err, new(*push.Failure)) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if g.sender.calls != 2 {
		t.Errorf("%d calls, want the stop and one probe", g.sender.calls)
	}
}

// A stop is told of once when it begins and once when it ends; probes that are refused are no news.
func TestGateTellsOfEachStopOnce(t *testing.T) {
	t.Parallel()
	g := newGated()
	var told []Event
	g.tell = func(e Event) { told = append(told, e) }
	g.sender.answer(&push.Failure{Class: push.Account, Scope: push.ScopeTemplate, Code: "isv.SMS_TEMPLATE_ILLEGAL", Wait: time.Minute})
	_, _ = g.send(2, "viewed")
	if len(told) > 0 {
		t.Fatalf("two refusals are told as %+v", told)
	}
	for range 3 { // the third refusal, and two probes
		_, _ = g.send(5, "viewed")
		g.at = g.at.Add(time.Minute)
	}
	g.sender.answer(nil)
	_, _ = g.send(1, "other") // concerns another template
	_, _ = g.send(2, "viewed")
	want := []Event{
		{Kind: GateShut, Scope: push.ScopeTemplate, BizType: "viewed", Code: "isv.SMS_TEMPLATE_ILLEGAL", Lasted: time.Minute},
		{Kind: GateOpened, Scope: push.ScopeTemplate, BizType: "viewed", Code: "isv.SMS_TEMPLATE_ILLEGAL", Lasted: 3 * time.Minute},
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %+v, want %+v", told, want)
	}
}

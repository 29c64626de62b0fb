package channels

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/channels/rate"
	"pusher/internal/push"
)

// paced is a rate that answers as told.
type paced struct {
	err          error
	waits, slows atomic.Int64
}

func (p *paced) Wait(context.Context) error { p.waits.Add(1); return p.err }
func (p *paced) Slow()                      { p.slows.Add(1) }
func (p *paced) State() rate.State          { return rate.State{Shared: true} }
func (p *paced) Close()                     {}

// What waited in vain uses no retry, and comes again when its turn would have come.
func TestWhatWaitedInVainComesAgainAtItsTurn(t *testing.T) {
	t.Parallel()
	p := &paced{err: &rate.CrowdedError{Wait: 7 * time.Second}}
	l, s := newLane(LaneConfig{Pace: p, Breaker: quick()})
	f := push.FailureOf(run(t, l, 1))
	if f.Class != push.Throttled || f.Scope != push.ScopeChannel || f.Code != CodeRate || !f.Unsent || f.Wait != 7*time.Second || s.calls != 0 {
		t.Errorf("refused with %+v", f)
	}
	p.err = context.Canceled
	if f := push.FailureOf(run(t, l, 1)); f.Class != push.Throttled || !errors.Is(f, context.Canceled) {
		t.Errorf("canceled with %+v", f)
	}
	p.err = nil
	if err := run(t, l, 200); err != nil || s.calls != 200 {
		t.Errorf("%v, %d calls: a place was not given back", err, s.calls)
	}
	if state := l.State(); state.Rate == nil || !state.Rate.Shared || state.InFlight != 0 || state.Limit != 100 || state.Provider != "p" {
		t.Errorf("the state is %+v", state)
	}
	l.Close()
}

// A stop of the account, and an open breaker, are said at once: nobody waits for the rate in vain.
func TestWhatStandsInTheWayIsSaidBeforeTheWait(t *testing.T) {
	t.Parallel()
	p := new(paced)
	l, s := newLane(LaneConfig{Pace: p, Probe: time.Minute})
	s.answer(&push.Failure{Class: push.Account, Scope: push.ScopeAccount, Code: "x", Wait: time.Hour})
	if f := push.FailureOf(run(t, l, 1)); f.Wait != time.Minute {
		t.Errorf("it is probed after %s", f.Wait)
	}
	if f := push.FailureOf(run(t, l, 50)); f.Class != push.Account || f.Code != "x" || s.calls != 1 || p.waits.Load() != 1 {
		t.Errorf("%+v after %d calls and %d waits", f, s.calls, p.waits.Load())
	}
	if got := l.State().Stops; len(got) != 1 || got[push.ScopeAccount] != 1 || l.Healthy("a") {
		t.Errorf("stops %v, healthy %t", got, l.Healthy("a"))
	}
}

// Only a provider that says that all are too fast slows the lane: one recipient's limit does not, and neither does the
// stop of an account.
func TestChannelWideThrottlingSlowsTheLane(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   *push.Failure
		slows bool
	}{
		"channel":   {&push.Failure{Class: push.Throttled, Scope: push.ScopeChannel, Wait: 5 * time.Second}, true},
		"HTTP 429":  {Uncoded(429), true},
		"recipient": {&push.Failure{Class: push.Throttled, Scope: push.ScopeRecipient, Wait: time.Hour}, false},
		"account":   {&push.Failure{Class: push.Throttled, Scope: push.ScopeAccount, Wait: time.Second}, false},
		"timeout":   {&push.Failure{Class: push.Ambiguous, Code: CodeTimeout}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := new(paced)
			l, s := newLane(LaneConfig{Pace: p})
			s.answer(c.end)
			_ = run(t, l, 3)
			if slowed := p.slows.Load() > 0; slowed != c.slows {
				t.Errorf("slowed %d times", p.slows.Load())
			}
		})
	}
}

// Without a rate, channel-wide throttling and timeouts leave fewer requests out, down to a few.
func TestStrainLeavesFewerRequestsOut(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{
		"throttled": &push.Failure{Class: push.Throttled, Scope: push.ScopeChannel, Wait: 5 * time.Second},
		"timeout":   &push.Failure{Class: push.Ambiguous, Code: CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, _ := newLane(LaneConfig{Slots: 64})
				for range 10 {
					var out []func(error)
					for range 64 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						leave, err := l.Enter(ctx, push.Message{})
						cancel()
						if err != nil {
							if f := push.FailureOf(err); f.Class != push.Throttled || f.Code != CodeOut {
								t.Fatalf("refused with %+v", f)
							}
							break
						}
						out = append(out, leave)
					}
					time.Sleep(time.Second)
					for _, leave := range out {
						leave(end)
					}
				}
				if s := l.State(); s.Limit != leastOut || s.InFlight != 0 {
					t.Errorf("the state is %+v", s)
				}
			})
		})
	}
}

func BenchmarkEnter(b *testing.B) {
	l, _ := newLane(LaneConfig{Slots: 1024, Breaker: quick()})
	m := push.Message{BizType: "a"}
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			leave, err := l.Enter(context.Background(), m)
			if err != nil {
				b.Fatal(err)
			}
			leave(nil)
		}
	})
}

// picky is a sender that cannot write everything.
type picky struct{ scripted }

func (*picky) Writes(m push.Message) bool { return m.BizType == "a" }

func TestALaneSaysWhatItsSenderCanWrite(t *testing.T) {
	t.Parallel()
	l := NewLane(new(picky), LaneConfig{Slots: 1})
	if !l.Writes(push.Message{BizType: "a"}) || l.Writes(push.Message{BizType: "b"}) {
		t.Error("it says something else than its sender")
	}
	if plain, _ := newLane(LaneConfig{}); !plain.Writes(push.Message{BizType: "b"}) || !plain.Serves("b") {
		t.Error("a sender that says nothing writes everything")
	}
}

package channels

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/push"
)

// quick is a breaker for tests: it opens after ten requests of which half failed.
func quick() BreakerConfig { return BreakerConfig{Pause: 15 * time.Second, Share: 0.5, Requests: 10} }

// run sends n messages one after the other through a lane, as the pipeline does, and returns the last error.
func run(t *testing.T, l *Lane, n int) error {
	t.Helper()
	var last error
	for range n {
		leave, err := l.Enter(t.Context(), push.Message{BizType: "a"})
		if err != nil {
			last = err
			continue
		}
		_, last = l.Send(t.Context(), push.Message{BizType: "a"})
		leave(last)
	}
	return last
}

func newLane(cfg LaneConfig) (*Lane, *scripted) {
	s := new(scripted)
	if cfg.Slots == 0 {
		cfg.Slots = 100
	}
	return NewLane(s, cfg), s
}

// A provider that hangs under few requests never fails twenty of them within ten seconds.
func TestFewFailuresInARowOverLongEnoughOpenTheBreaker(t *testing.T) {
	t.Parallel()
	hang := &push.Failure{Class: push.Ambiguous, Code: CodeTimeout}
	for name, c := range map[string]struct {
		ends  []error
		every time.Duration
		opens bool
	}{
		"five over a minute":   {[]error{hang, hang, hang, hang, hang}, 15 * time.Second, true},
		"a burst of five":      {[]error{hang, hang, hang, hang, hang}, time.Second, false},
		"four over an hour":    {[]error{hang, hang, hang, hang}, 15 * time.Minute, false},
		"an answer in between": {[]error{hang, hang, hang, nil, hang, hang, hang, hang}, 15 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, _ := newLane(LaneConfig{Breaker: quick()})
				for _, end := range c.ends {
					leave, err := l.Enter(t.Context(), push.Message{BizType: "a"})
					if err != nil {
						t.Fatalf("kept back early: %v", err)
					}
					leave(end)
					time.Sleep(c.every) // in the bubble's time
				}
				if opened := l.State().Breaker > 0; opened != c.opens {
					t.Errorf("opened: %v, want %v", opened, c.opens)
				}
			})
		})
	}
}

// Only the provider's own faults open the breaker, whatever else it refuses.
func TestOnlyTheProvidersOwnFaultsOpenTheBreaker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end   error
		opens bool
	}{
		"refused connection":  {&push.Failure{Class: push.NotSent, Code: CodeDial, Unsent: true}, true},
		"no such host":        {&push.Failure{Class: push.NotSent, Code: CodeDNS, Unsent: true}, true},
		"tls":                 {&push.Failure{Class: push.NotSent, Code: CodeTLS, Unsent: true}, true},
		"dial timeout":        {&push.Failure{Class: push.NotSent, Code: CodeTimeout, Unsent: true}, true},
		"timeout":             {&push.Failure{Class: push.Ambiguous, Code: CodeTimeout}, true},
		"cut":                 {&push.Failure{Class: push.Ambiguous, Code: CodeLost}, true},
		"HTTP 502":            {Uncoded(502), true},
		"garbage":             {Uncoded(200), true},
		"its own timeout":     {&push.Failure{Class: push.Ambiguous, Code: "InternalError.Timeout"}, true},
		"accepted":            {nil, false},
		"permanent":           {&push.Failure{Class: push.Permanent, Code: "isv.MOBILE_NUMBER_ILLEGAL"}, false},
		"recipient's limit":   {&push.Failure{Class: push.Throttled, Scope: push.ScopeRecipient, Code: "x"}, false},
		"throttled":           {&push.Failure{Class: push.Throttled, Scope: push.ScopeChannel, Code: "x"}, false},
		"coded, may pass":     {&push.Failure{Class: push.NotSent, Code: "isp.SYSTEM_ERROR"}, false},
		"template":            {&push.Failure{Class: push.Account, Scope: push.ScopeTemplate, Code: "x"}, false},
		"we broke it off":     {&push.Failure{Class: push.Ambiguous, Code: CodeCanceled}, false},
		"broken off unsent":   {&push.Failure{Class: push.NotSent, Code: CodeCanceled, Unsent: true}, false},
		"we panicked":         {&push.Failure{Class: push.Ambiguous, Code: "panic"}, false},
		"nobody classified":   {errors.New("x"), false},
		"no token":            {&push.Failure{Class: push.NotSent, Code: "token_timeout", Unsent: true}, false},
		"none was made":       {push.ErrNotMade, false},
		"HTTP 429":            {Uncoded(429), false},
		"a fence of our own":  {push.ErrNotMade, false},
		"an answer too large": {&push.Failure{Class: push.Ambiguous, Code: CodeTooLarge}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, _ := newLane(LaneConfig{Breaker: quick()})
				for range 30 {
					leave, err := l.Enter(t.Context(), push.Message{BizType: "a"})
					if err != nil {
						break
					}
					leave(c.end)
				}
				if open := l.State().Breaker == 2; open != c.opens || l.Healthy("a") == c.opens {
					t.Errorf("open %t, healthy %t", open, l.Healthy("a"))
				}
			})
		})
	}
}

// An open breaker refuses at once, says that nothing left and uses no retry; then a few probes go, and when they are
// answered, all.
func TestAnOpenBreakerProbesItsWayBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []Event
		l, s := newLane(LaneConfig{Breaker: quick(), Tell: func(e Event) { told = append(told, e) }})
		s.answer(&push.Failure{Class: push.NotSent, Code: CodeDial, Unsent: true})
		f := push.FailureOf(run(t, l, 100))
		if s.calls != 10 {
			t.Errorf("%d calls, want ten", s.calls)
		}
		if f.Class.UsesRetry() || !f.Unsent || f.Scope != push.ScopeChannel || f.Code != CodeBreakerOpen || f.Wait < 15*time.Second || f.Wait > 30*time.Second {
			t.Errorf("refused with %+v", f)
		}
		if !strings.Contains(f.Message, CodeDial) {
			t.Errorf("it does not say why: %s", f.Message)
		}
		if l.Healthy("a") {
			t.Error("healthy with an open breaker")
		}
		time.Sleep(15*time.Second + time.Millisecond)
		if !l.Healthy("a") {
			t.Error("nobody would come to probe")
		}
		if f := push.FailureOf(run(t, l, 1)); s.calls != 11 || f.Class != push.Throttled || f.Code != CodeBreakerOpen {
			t.Errorf("the probe ends with %+v after %d calls; want no retry used for proof that nothing left", f, s.calls)
		}
		if _ = run(t, l, 10); s.calls != 11 {
			t.Errorf("%d calls after a probe in vain", s.calls)
		}
		time.Sleep(15*time.Second + time.Millisecond)
		s.answer(nil)
		if err := run(t, l, 100); err != nil || s.calls != 111 {
			t.Errorf("%v, %d calls when it is well again", err, s.calls)
		}
		if len(told) != 2 || told[0].Kind != BreakerOpened || told[1].Kind != BreakerClosed || told[1].Lasted < 30*time.Second {
			t.Errorf("told %+v; want once each way", told)
		}
	})
}

func TestNoMoreThanAFewProbesGoAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newLane(LaneConfig{Breaker: quick()})
		s.answer(&push.Failure{Class: push.Ambiguous, Code: CodeTimeout})
		_ = run(t, l, 10)
		time.Sleep(16 * time.Second)
		var probes []func(error)
		for range 50 {
			leave, err := l.Enter(t.Context(), push.Message{})
			if err == nil {
				probes = append(probes, leave)
			} else if f := push.FailureOf(err); f.Class != push.Throttled || !f.Unsent {
				t.Errorf("refused with %+v", f)
			}
		}
		if len(probes) != breakerProbes || l.Healthy("a") {
			t.Errorf("%d probes, healthy %t", len(probes), l.Healthy("a"))
		}
		probes[0](push.ErrNotMade) // its place is another's
		if leave, err := l.Enter(t.Context(), push.Message{}); err != nil {
			t.Error(err)
		} else {
			leave(nil)
		}
		probes[1](nil)
		probes[2](nil)
		if l.State().Breaker != 0 {
			t.Error("not closed after three answers")
		}
	})
}

// An outage of an hour: what is kept back comes again in growing distances, so that each message is tried in vain some
// dozen times and not hundreds.
func TestALongOutageIsNoFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newLane(LaneConfig{Breaker: quick()})
		s.answer(&push.Failure{Class: push.NotSent, Code: CodeDial, Unsent: true})
		_ = run(t, l, 10)
		const messages = 200
		tries, used := 0, 0
		began := time.Now()
		next := make([]time.Duration, messages)
		for passed := time.Duration(0); passed < time.Hour; passed += time.Second {
			for m := range next {
				if next[m] > passed {
					continue
				}
				f := push.FailureOf(run(t, l, 1))
				tries++
				if f.Class.UsesRetry() {
					used++
				}
				next[m] = passed + f.Wait
			}
			time.Sleep(time.Until(began.Add(passed + time.Second)))
		}
		if used > 0 {
			t.Errorf("%d retries used", used)
		}
		if each := tries / messages; each > 60 {
			t.Errorf("each was tried %d times in an hour", each)
		}
	})
}

func TestNoPauseIsNoBreaker(t *testing.T) {
	t.Parallel()
	l, s := newLane(LaneConfig{})
	s.answer(&push.Failure{Class: push.NotSent, Code: CodeDial, Unsent: true})
	if f := push.FailureOf(run(t, l, 100)); s.calls != 100 || f.Class != push.NotSent || !l.Healthy("a") {
		t.Errorf("%d calls, %+v", s.calls, f)
	}
	if _, err := l.Enter(context.Background(), push.Message{}); err != nil {
		t.Error(err)
	}
}

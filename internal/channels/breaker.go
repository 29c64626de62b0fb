package channels

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"pusher/internal/push"
)

// CodeBreakerOpen is the code of a message that was kept back because its provider fails.
const CodeBreakerOpen = "breaker_open"

const (
	breakerWindow = 10 * time.Second // of the requests that the breaker looks at
	breakerBucket = time.Second      // in which they are forgotten
	breakerStreak = 5                // failures in a row over more than the window: enough, however few requests there are
	breakerProbes = 3                // requests in a row that must be answered before all may go again
	breakerMost   = 5 * time.Minute  // the longest that one is kept back beyond the pause
)

// errSilent is told to the breaker of a request that says nothing about the provider.
var errSilent = errors.New("nothing was learnt")

// BreakerConfig says when a provider counts as failed.
type BreakerConfig struct {
	Pause    time.Duration // nothing is sent for so long, then a few probes; 0: no breaker
	Share    float64       // of the last ten seconds' requests that must have failed
	Requests int           // of those ten seconds, before anything is concluded
}

// breaker holds everything back from a provider that fails: it opens on the provider's own faults only.
type breaker struct {
	cfg    BreakerConfig
	tell   func(Event)
	cb     *gobreaker.TwoStepCircuitBreaker[struct{}]
	closed atomic.Bool // as long as nothing is wrong, nobody asks further

	mu    sync.Mutex // guards all below
	since time.Time  // when it opened first, of this outage
	until time.Time  // when probes may go
	fault string     // the code of the last one
	begun time.Time  // when the first of the failures in a row came
	count int        // failures in a row
}

func newBreaker(provider string, cfg BreakerConfig, tell func(Event)) *breaker {
	b := &breaker{cfg: cfg, tell: tell}
	b.closed.Store(true)
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: provider, MaxRequests: breakerProbes, Interval: breakerWindow, BucketPeriod: breakerBucket, Timeout: cfg.Pause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			ended := c.TotalSuccesses + c.TotalFailures
			return int(ended) >= cfg.Requests && float64(c.TotalFailures) >= cfg.Share*float64(ended) || b.silent()
		},
		IsSuccessful:  b.well,
		IsExcluded:    func(err error) bool { return errors.Is(err, errSilent) },
		OnStateChange: b.changed,
	})
	return b
}

// well reads a verdict, and keeps the code of a fault for those that are kept back.
func (b *breaker) well(err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.count = 0
		return true
	}
	if b.count++; b.count == 1 {
		b.begun = time.Now()
	}
	b.fault = push.FailureOf(err).Code
	return false
}

// silent reports whether nothing but failures came for longer than the window: a provider that hangs gets few requests,
// since each holds its place until it times out, and each of them is one more in doubt.
func (b *breaker) silent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count >= breakerStreak && time.Since(b.begun) >= breakerWindow
}

// changed follows the breaker; it is called under its lock.
func (b *breaker) changed(provider string, from, to gobreaker.State) {
	b.closed.Store(to == gobreaker.StateClosed)
	b.mu.Lock()
	now := time.Now()
	if to == gobreaker.StateOpen {
		if from == gobreaker.StateClosed {
			b.since = now
		}
		b.until = now.Add(b.cfg.Pause)
	}
	lasted := now.Sub(b.since)
	b.mu.Unlock()
	switch {
	case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
		b.tell(Event{Provider: provider, Kind: BreakerOpened})
	case to == gobreaker.StateClosed:
		b.tell(Event{Provider: provider, Kind: BreakerClosed, Lasted: lasted})
	}
}

// allow lets one request through, whose end is told to done as verdict reads it; or says why it must not go.
func (b *breaker) allow() (done func(error), refused *push.Failure) {
	if b.cfg.Pause == 0 {
		return func(error) {}, nil
	}
	done, err := b.cb.Allow()
	if err != nil {
		return nil, b.refusal(err)
	}
	return done, nil
}

// look says why no request would go through now; nil: one would.
func (b *breaker) look() *push.Failure {
	if b.closed.Load() {
		return nil
	}
	switch b.cb.State() {
	case gobreaker.StateOpen:
		return b.refusal(gobreaker.ErrOpenState)
	case gobreaker.StateHalfOpen:
		if c := b.cb.Counts(); c.Requests >= c.TotalExclusions+breakerProbes {
			return b.refusal(gobreaker.ErrTooManyRequests)
		}
	case gobreaker.StateClosed:
	}
	return nil
}

// refusal is the failure of a message that is kept back. That nothing left is certain; no retry is used, since none was
// made: an outage must not use up the tries of all that came in it. What is kept back comes again after the pause,
// spread over a time that grows with the outage, so that a long one is not a flood of tries in vain.
func (b *breaker) refusal(cause error) *push.Failure {
	b.mu.Lock()
	now := time.Now()
	left, lasted, fault := max(0, b.until.Sub(now)), now.Sub(b.since), b.fault
	b.mu.Unlock()
	spread := min(max(b.cfg.Pause, lasted/4), breakerMost)
	return &push.Failure{
		Class: push.Throttled, Scope: push.ScopeChannel, Code: CodeBreakerOpen, Unsent: true, Err: cause,
		Message: "the provider fails (" + fault + "): nothing is sent to it until it answers again",
		Wait:    left + time.Duration(rand.Int64N(int64(spread)+1)),
	}
}

// spare turns the proof that nothing left into a refusal of the breaker's own while it is not closed: a message that
// served as a probe, or was on its way when the provider failed, pays no retry for that.
func (b *breaker) spare(err error) error {
	if err == nil || b.closed.Load() {
		return err
	}
	f := push.FailureOf(err)
	if f.Class != push.NotSent || !f.Unsent || !isFault(f) {
		return err
	}
	kept := b.refusal(f)
	kept.Message = f.Error()
	return kept
}

// state tells 0 for closed, 1 for half-open, 2 for open.
func (b *breaker) state() int {
	if b.closed.Load() {
		return 0
	}
	return int(b.cb.State())
}

// verdict is what the end of a request says to the breaker: nil for an answer, whatever it was, since who answers is
// there; errSilent for what says nothing; else the provider's fault.
func verdict(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, push.ErrNotMade) {
		return errSilent
	}
	f := original(err)
	switch {
	case isFault(f):
		return f
	case f.Class == push.Permanent, f.Class == push.Ambiguous, f.Unsent: // perhaps never sent; ours
		return errSilent
	}
	return nil
}

// original is the failure behind a refusal that spare made of it.
func original(err error) *push.Failure {
	f := push.FailureOf(err)
	if f.Code == CodeBreakerOpen {
		if inner, ok := errors.AsType[*push.Failure](f.Err); ok {
			return inner
		}
	}
	return f
}

// isFault reports whether a failure is the provider's own: it could not be reached, did not answer in time, or gave no
// answer that can be read. A refusal of the message, its recipient or the account is none, nor is what we broke off
// ourselves. WeChat's tokens look after their own failures.
func isFault(f *push.Failure) bool {
	switch f.Code {
	case CodeCanceled, codePanic, codeUnclassified:
		return false
	}
	return f.Class == push.Ambiguous || f.Class == push.NotSent && f.Unsent && !strings.HasPrefix(f.Code, tokenCodes)
}

// The codes of failures that say nothing about a provider.
const (
	codePanic        = "panic"
	codeUnclassified = "unclassified"
	tokenCodes       = "token_"
)

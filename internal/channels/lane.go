package channels

import (
	"context"
	"errors"
	"time"

	"pusher/internal/channels/rate"
	"pusher/internal/push"
)

// The codes of messages that their provider's lane had no room for.
const (
	CodeRate    = "rate_wait"      // their turn at the rate would come too late
	CodeOut     = "in_flight_wait" // too many requests are out at the provider
	codeHTTP429 = codeHTTPStart + "429"
)

// Pace lets requests through at a rate; see rate.Limiter.
type Pace interface {
	Wait(ctx context.Context) error
	Slow()
	State() rate.State
	Close()
}

// The kinds of an Event.
const (
	BreakerOpened = "breaker_opened"
	BreakerClosed = "breaker_closed"
	GateShut      = "gate_shut"   // a stop of the account, the channel or a template began
	GateOpened    = "gate_opened" // and ended: the provider took a message, or refused one for its recipient alone
)

// Event is what happened to a lane and is worth telling, once each time.
type Event struct {
	Provider string
	Kind     string
	Lasted   time.Duration // BreakerClosed, GateOpened: how long it was not; GateShut: until a probe

	Scope   push.Scope // of a gate's: whom the stop concerns
	BizType string     // of a stopped template
	Code    string     // of a gate's: the provider's
}

// LaneConfig says what holds a provider back.
type LaneConfig struct {
	Slots   int  // requests that may be out at once; at least 1
	Pace    Pace // nil: there is no rate
	Breaker BreakerConfig
	Probe   time.Duration // the longest that a stop of an account or template lasts before it is probed; 0: as its table says

	Tell   func(Event)                // must not block; may be nil
	Waited func(waited time.Duration) // told of each wait for the rate; may be nil
}

// Sender is what a Lane stands before.
type Sender interface {
	Send(ctx context.Context, m push.Message) (push.Acceptance, error)
	Provider() string
	Serves(bizType string) bool
	Close()
}

// Lane is one provider's way out: its gate, the rate over all instances, the limit of requests out at once, and the
// breaker. Each request asks for permission, is made, and says how it ended; all of that is learnt from. It is safe for
// concurrent use.
type Lane struct {
	sender   Sender
	gate     *Gate
	inflight *inflight
	breaker  *breaker
	pace     Pace
	probe    time.Duration
	waited   func(time.Duration)
}

// NewLane puts a lane, with a gate, before a sender. Close it in the end.
func NewLane(sender Sender, cfg LaneConfig) *Lane {
	if cfg.Tell == nil {
		cfg.Tell = func(Event) {}
	}
	if cfg.Waited == nil {
		cfg.Waited = func(time.Duration) {}
	}
	gate := NewGate(time.Now)
	gate.tell = func(e Event) {
		e.Provider = sender.Provider()
		cfg.Tell(e)
	}
	return &Lane{
		sender: sender, gate: gate, inflight: newInflight(cfg.Slots, time.Now),
		breaker: newBreaker(sender.Provider(), cfg.Breaker, cfg.Tell), pace: cfg.Pace, probe: cfg.Probe, waited: cfg.Waited,
	}
}

// Provider is the sender's.
func (l *Lane) Provider() string { return l.sender.Provider() }

// Serves is the sender's.
func (l *Lane) Serves(bizType string) bool { return l.sender.Serves(bizType) }

// Writes is the sender's own word, where it has one.
func (l *Lane) Writes(m push.Message) bool {
	says, ok := l.sender.(interface{ Writes(m push.Message) bool })
	return !ok || says.Writes(m)
}

// Healthy reports whether a new message of the push would be let through now, leaving rate and room aside.
func (l *Lane) Healthy(bizType string) bool {
	return l.breaker.look() == nil && l.gate.Healthy(bizType)
}

// Close closes the sender. Nobody may be in the lane any more.
func (l *Lane) Close() {
	l.sender.Close()
	if l.pace != nil {
		l.pace.Close()
	}
}

// Enter waits for the permission to make one request. What stands in the way for long is said at once; the wait for room
// and rate is in order. leave is to be called once, with how the request ended; push.ErrNotMade: none was made.
func (l *Lane) Enter(ctx context.Context, m push.Message) (leave func(err error), err error) {
	if f := l.look(m); f != nil {
		return nil, f
	}
	if err := l.inflight.enter(ctx); err != nil {
		return nil, late(err, CodeOut)
	}
	done, err := l.admit(ctx, m)
	if err != nil {
		l.inflight.back()
		return nil, err
	}
	l.inflight.send()
	return func(err error) { l.leave(done, err) }, nil
}

// look says what would be said after the wait, too.
func (l *Lane) look(m push.Message) *push.Failure {
	if f := l.gate.look(m); f != nil {
		return f
	}
	return l.breaker.look()
}

// admit waits for the rate; then the breaker and the gate have the last word, each of which may let a single one through
// as a probe.
func (l *Lane) admit(ctx context.Context, m push.Message) (done func(error), err error) {
	if l.pace != nil {
		began := time.Now()
		err := l.pace.Wait(ctx)
		l.waited(time.Since(began))
		if err != nil {
			return nil, late(err, CodeRate)
		}
	}
	done, refused := l.breaker.allow()
	if refused != nil {
		return nil, refused
	}
	if refused := l.gate.shut(m); refused != nil {
		done(errSilent)
		return nil, refused
	}
	return done, nil
}

// leave learns from the end of a request.
func (l *Lane) leave(done func(error), err error) {
	done(verdict(err))
	how := strain(err)
	l.inflight.leave(how)
	if how == strained && l.pace != nil && original(err).Class != push.Ambiguous {
		l.pace.Slow()
	}
}

// Send makes the request. Its error is a *push.Failure.
func (l *Lane) Send(ctx context.Context, m push.Message) (push.Acceptance, error) {
	accepted, err := l.sender.Send(ctx, m)
	if f, ok := errors.AsType[*push.Failure](err); ok && f.Class == push.Account && l.probe > 0 {
		sooner := *f
		sooner.Wait = min(f.Wait, l.probe)
		err = &sooner
	}
	l.gate.learn(m, err)
	return accepted, l.breaker.spare(err)
}

// strain reads from the end of a request whether the provider has more than it can take.
func strain(err error) answer {
	if err == nil {
		return easy
	}
	if errors.Is(err, push.ErrNotMade) {
		return silent
	}
	switch f := original(err); {
	case f.Class == push.Throttled && f.Scope == push.ScopeChannel, f.Code == codeHTTP429, f.Code == CodeTimeout:
		return strained
	case f.Class == push.Ambiguous || f.Unsent:
		return silent
	}
	return easy
}

// late is the failure of a message that waited in vain: nothing left, and no retry is used. The rate names the time when
// its turn would come; everything else is left to the backoff.
func late(err error, code string) *push.Failure {
	f := &push.Failure{
		Class: push.Throttled, Scope: push.ScopeChannel, Code: code, Unsent: true, Err: err,
		Message: "its turn at the provider did not come in time",
	}
	if crowded, ok := errors.AsType[*rate.CrowdedError](err); ok {
		f.Wait = crowded.Wait
	}
	return f
}

// LaneState is what a lane does at the moment.
type LaneState struct {
	Provider string
	Breaker  int                // 0 closed, 1 half-open, 2 open
	InFlight int                // requests out
	Limit    int                // how many may be
	Rate     *rate.State        // nil: there is no rate
	Stops    map[push.Scope]int // what the gate is shut for
}

// State tells what the lane does.
func (l *Lane) State() LaneState {
	s := LaneState{Provider: l.Provider(), Breaker: l.breaker.state(), Stops: l.gate.stopped()}
	s.InFlight, s.Limit = l.inflight.state()
	if l.pace != nil {
		pace := l.pace.State()
		s.Rate = &pace
	}
	return s
}

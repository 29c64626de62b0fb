package channels

import (
	"sync"
	"sync/atomic"
	"time"

	"pusher/internal/push"
)

const (
	// briefly is the wait of a limit that a slower pace meets better than a pause.
	briefly = time.Minute

	// probeMost is how long the others wait for the word on a probe.
	probeMost = 15 * time.Second

	// templateStops is how many refusals in a row stop a template: WeChat gives single ones for no reason.
	templateStops = 3
)

// Gate keeps back what its provider would refuse anyway. A stop of the account, a limit of the account or channel that
// lasts, and repeated refusals of a template shut it for what they concern. When the wait that the refusal named is
// over, one message goes through as a probe: accepted, it opens the gate; refused, it shuts it again. What is kept back
// fails at once, with the refusal that shut the gate, and uses no retry. It is safe for concurrent use; each process
// has its own. A Lane asks it before each request, and tells it how that ended.
type Gate struct {
	now  func() time.Time
	tell func(Event) // of each stop that begins or ends

	open  atomic.Bool      // there is no stop at all: the usual case, which costs nothing
	mu    sync.Mutex       // guards stops
	stops map[string]*stop // by what they concern
}

// stop is a refusal that concerns more than its message.
type stop struct {
	failure push.Failure
	bizType string    // of a template
	count   int       // in a row
	since   time.Time // it shut the gate
	until   time.Time // nobody passes before
}

// NewGate makes an open gate.
func NewGate(now func() time.Time) *Gate {
	g := &Gate{now: now, tell: func(Event) {}, stops: map[string]*stop{}}
	g.open.Store(true)
	return g
}

// Healthy reports whether a message of the push would pass now. When the wait of a stop is over it says yes: else
// nobody would come to probe.
func (g *Gate) Healthy(bizType string) bool { return g.look(push.Message{BizType: bizType}) == nil }

// look returns the refusal that would keep m back; nil: m would pass.
func (g *Gate) look(m push.Message) *push.Failure {
	if g.open.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	for _, what := range concerns(m) {
		if s := g.stops[what]; s != nil && now.Before(s.until) {
			return s.refusal(now)
		}
	}
	return nil
}

// refusal is the failure of what is kept back at now.
func (s *stop) refusal(now time.Time) *push.Failure {
	f := s.failure
	f.Wait = s.until.Sub(now)
	return &f
}

// stopped counts what the gate is shut for at the moment, or waits for the word on a probe of.
func (g *Gate) stopped() map[push.Scope]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := map[push.Scope]int{}
	for _, s := range g.stops {
		if !s.until.IsZero() {
			counts[s.failure.Scope]++
		}
	}
	return counts
}

// concerns names what a message depends on, the widest first.
func concerns(m push.Message) []string {
	return []string{string(push.ScopeAccount), string(push.ScopeChannel), string(push.ScopeTemplate) + " " + m.BizType}
}

// shut returns the refusal that keeps m back; nil lets it through, the first after a wait as the probe.
func (g *Gate) shut(m push.Message) *push.Failure {
	if g.open.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	var over []*stop
	for _, what := range concerns(m) {
		s := g.stops[what]
		switch {
		case s == nil || s.until.IsZero():
		case now.Before(s.until):
			return s.refusal(now)
		default:
			over = append(over, s)
		}
	}
	for _, s := range over {
		s.until = now.Add(probeMost)
	}
	return nil
}

// learn takes note of how m ended. What was accepted, or refused for its recipient's own limit, found no stop; no
// answer says nothing, and neither does what is wrong with the message alone.
func (g *Gate) learn(m push.Message, err error) {
	if err == nil && g.open.Load() {
		return
	}
	f := push.FailureOf(err)
	var events []Event
	g.mu.Lock()
	switch {
	case err == nil || f.Class == push.Throttled && f.Scope == push.ScopeRecipient:
		events = g.lift(m)
	case f.Class == push.Account || f.Class == push.Throttled && f.Wait >= briefly:
		events = g.note(m, f)
	}
	g.mu.Unlock()
	for _, e := range events {
		g.tell(e)
	}
}

// lift takes away what m would have met; the caller holds the lock and tells of the events.
func (g *Gate) lift(m push.Message) (events []Event) {
	for _, what := range concerns(m) {
		s := g.stops[what]
		if s == nil {
			continue
		}
		delete(g.stops, what)
		if !s.since.IsZero() {
			events = append(events, s.event(GateOpened, g.now().Sub(s.since)))
		}
	}
	g.open.Store(len(g.stops) == 0)
	return events
}

// event is what a stop tells of itself; lasts is how long it did, or will.
func (s *stop) event(kind string, lasts time.Duration) Event {
	return Event{Kind: kind, Scope: s.failure.Scope, BizType: s.bizType, Code: s.failure.Code, Lasted: lasts}
}

// note keeps a refusal that concerns more than m; the caller holds the lock and tells of the events.
func (g *Gate) note(m push.Message, f *push.Failure) (events []Event) {
	what, most := string(f.Scope), 1
	switch {
	case f.Scope == push.ScopeTemplate && f.Class == push.Account:
		what, most = what+" "+m.BizType, templateStops
	case f.Scope == push.ScopeTemplate:
		what += " " + m.BizType
	case f.Scope != push.ScopeAccount && f.Scope != push.ScopeChannel:
		return nil
	}
	s := g.stops[what]
	if s == nil {
		s = new(stop)
		if f.Scope == push.ScopeTemplate {
			s.bizType = m.BizType
		}
		g.stops[what] = s
		g.open.Store(false)
	}
	s.failure = *f
	if s.count++; s.count < most {
		return nil
	}
	now := g.now()
	s.until = now.Add(f.Wait)
	if s.since.IsZero() { // a probe that is refused is no news
		s.since = now
		events = append(events, s.event(GateShut, f.Wait))
	}
	return events
}

package protocol

import (
	"slices"
	"time"

	"pusher/internal/push"
)

// Flight is one request on its way to a provider.
type Flight struct {
	Round   int
	Attempt int
	Via     string    // the provider of several
	Left    time.Time // when it passed the fence
	Fate    Fate
}

// Fate is what became of a request.
type Fate int

// The fates of a request.
const (
	Pending  Fate = iota // it may still arrive
	Taken                // the provider accepted it
	Refused              // the provider said no
	NeverOut             // it never left, or can arrive no more
)

// What the rules assume of WeChat: it dedups on our reference for ten minutes, and a request past its fence arrives
// within a minute or never.
const (
	wechatRemembers = 10 * time.Minute
	wechatFlight    = time.Minute
)

// Provider is the far side of one channel, for one recipient: one provider, or several that know nothing of each other.
type Provider struct {
	Action  push.Action
	Now     func() time.Time
	Flights []*Flight
	heard   map[int]time.Time // when a round's message was last taken as a new one
	told    map[int]int       // how often the recipient got a round's message
}

// Send lets a request leave that passed the fence at that time.
func (p *Provider) Send(round, attempt int, via string, fenced time.Time) *Flight {
	f := &Flight{Round: round, Attempt: attempt, Via: via, Left: fenced}
	p.Flights = append(p.Flights, f)
	return f
}

// Arrive is a request's arrival, and the provider's yes or no. WeChat says yes to a repeat, but tells nobody twice.
func (p *Provider) Arrive(f *Flight, accept bool) {
	switch {
	case p.Action == push.WeChat && p.Now().Sub(f.Left) > wechatFlight:
		f.Fate = NeverOut
	case !accept:
		f.Fate = Refused
	default:
		f.Fate = Taken
		p.tell(f.Round)
	}
}

func (p *Provider) tell(round int) {
	if p.told == nil {
		p.told, p.heard = make(map[int]int), make(map[int]time.Time)
	}
	if p.Action == push.WeChat && p.told[round] > 0 && p.Now().Sub(p.heard[round]) <= wechatRemembers {
		return
	}
	p.heard[round] = p.Now()
	p.told[round]++
}

// Told is how often the recipient got the round's message.
func (p *Provider) Told(round int) int { return p.told[round] }

// Took reports whether one of several providers accepted a request of the round.
func (p *Provider) Took(round int, via string) bool {
	return slices.ContainsFunc(p.Flights, func(f *Flight) bool { return f.Round == round && f.Via == via && f.Fate == Taken })
}

// Open reports whether a request of the round was accepted, or may still be.
func (p *Provider) Open(round int) bool {
	for _, f := range p.Flights {
		if f.Round == round && (f.Fate == Taken || f.Fate == Pending && !p.lost(f)) {
			return true
		}
	}
	return false
}

// lost reports whether a pending request can arrive no more.
func (p *Provider) lost(f *Flight) bool {
	return p.Action == push.WeChat && p.Now().Sub(f.Left) > wechatFlight
}

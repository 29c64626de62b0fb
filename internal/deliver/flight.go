package deliver

import (
	"context"
	"time"

	"pusher/internal/push"
)

// flight is one delivery on its way through this process: its turns follow one another until one of them takes care of
// it. It has a goroutine of its own only where it waits, or sends.
type flight struct {
	d    *Deliverer
	ctx  context.Context //nolint:containedctx // of the record's generation
	del  *push.Delivery
	key  string
	size int64  // bytes of its record
	span traced // the record's, then its own
	of   *party // the deliveries of its record
	room bool   // it holds a place of its own; others of the record may take longer

	first time.Time // when this process first looked at the delivery
}

// start takes the first turn; where another delivery of this process has the key in hand, behind that one.
func (f *flight) start() {
	f.d.work.Add(1)
	f.d.held.admitted.Add(1)
	f.key = f.del.Key()
	f.span = f.span.part("delivery")
	if f.d.flights.take(f.key) != nil {
		f.aside(f.follow)
		return
	}
	f.first = f.d.cfg.Now()
	f.turn()
}

// follow takes the delivery up when the one before it, of the same key, has ended.
func (f *flight) follow() {
	if f.d.flights.enter(f.ctx, f.key) != nil {
		f.land(Facts{}, ending{})
		return
	}
	f.first = f.d.cfg.Now()
	f.turn()
}

// aside goes on with step in a goroutine of its own. Close waits for it: the flight is counted in work since its start.
func (*flight) aside(step func()) { go step() }

// turn takes a turn, with a claim of its own.
func (f *flight) turn() {
	t := &turn{
		flight: f, owner: push.NewOwner(), channel: f.d.cfg.Channels[f.del.Action],
		lease: newLease(f.d.cfg.Now, f.d.cfg.Lease),
	}
	t.begin()
}

// turned follows the end of a turn: after a wait there is another one, or the key is free for who waits for it.
func (f *flight) turned(facts Facts, how ending) {
	if how.again == 0 {
		f.d.flights.leave(f.key)
		f.land(facts, how)
		return
	}
	f.aside(func() {
		if f.d.pause(f.ctx, how.again) {
			f.turn()
			return
		}
		f.d.flights.leave(f.key)
		f.land(facts, ending{})
	})
}

// land gives back what the delivery held and says whether it is taken care of: its row has left sending, or somebody else
// looks after it. An error says that PostgreSQL refuses its data, for good.
func (f *flight) land(facts Facts, how ending) {
	defer f.d.work.Done()
	if f.span.Span != nil {
		f.span.end(facts.or(how.err))
	}
	f.d.held.admitted.Add(-1)
	if f.room {
		f.d.room.Release(1)
	}
	f.of.leave(how.taken, how.err)
}

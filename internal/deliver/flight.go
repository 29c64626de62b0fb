package deliver

import (
	"context"
	"time"

	"pusher/internal/push"
)

// flight is one delivery on its way through this process. Its first claim goes out without a goroutine of its own, and a
// duplicate, which that claim's answer ends, never gets one.
type flight struct {
	d    *Deliverer
	ctx  context.Context //nolint:containedctx // of the record's generation: the answer of the claim finds it here
	del  *push.Delivery
	key  string
	size int64  // bytes of its record
	span traced // the record's, then its own
	of   *party // the deliveries of its record
	room bool   // it holds a place of its own; others of the record may take longer

	first time.Time // when this process first looked at the delivery
}

// begin sends the first claim off; where another delivery of this process has the key in hand, behind that one.
func (f *flight) begin() {
	d := f.d
	d.work.Add(1)
	d.held.admitted.Add(1)
	f.key = f.del.Key()
	f.span = f.span.part("delivery")
	if d.flights.take(f.key) != nil {
		go f.follow()
		return
	}
	f.first = d.cfg.Now()
	t := f.turn()
	if d.isStopping() || d.claims.post(f.ctx, f.span, t.asClaim(), t) != nil {
		f.leave(t.facts, ending{})
	}
}

// answered takes the first claim's answer. It runs in the claims' batcher and waits for nothing: a duplicate ends here, and
// all else goes on in its own goroutine.
func (t *turn) answered(grant push.Grant) {
	if grant.Err == nil && grant.Verdict == push.Duplicate {
		end := t.run(t.flight.ctx, grant)
		t.flight.leave(t.facts, end)
		return
	}
	go t.flight.fly(t, grant) // Close waits for it: it is counted in work since begin
}

// follow takes the delivery up when the one before it, of the same key, has ended.
func (f *flight) follow() {
	if f.d.flights.enter(f.ctx, f.key) != nil {
		f.end(Facts{}, ending{})
		return
	}
	f.first = f.d.cfg.Now()
	f.fly(f.turn(), push.Grant{})
}

// fly takes the delivery through its turns, the first of which may have the answer of its claim already.
func (f *flight) fly(t *turn, first push.Grant) {
	end := t.run(f.ctx, first)
	for end.again != 0 && f.d.pause(f.ctx, end.again) {
		t = f.turn()
		end = t.run(f.ctx, push.Grant{})
	}
	f.leave(t.facts, end)
}

// turn is a new one, with a claim of its own.
func (f *flight) turn() *turn {
	return &turn{
		d: f.d, del: f.del, key: f.key, size: f.size, owner: push.NewOwner(), channel: f.d.cfg.Channels[f.del.Action],
		lease: newLease(f.d.cfg.Now, f.d.cfg.Lease), first: f.first, span: f.span, flight: f,
	}
}

// leave gives the key up and ends the flight.
func (f *flight) leave(facts Facts, end ending) {
	f.d.flights.leave(f.key)
	f.end(facts, end)
}

// end gives back what the delivery held and says whether it is taken care of: its row has left sending, or somebody else
// looks after it. An error says that PostgreSQL refuses its data, for good.
func (f *flight) end(facts Facts, end ending) {
	defer f.d.work.Done()
	if f.span.Span != nil {
		f.span.end(facts.or(end.err))
	}
	f.d.held.admitted.Add(-1)
	if f.room {
		f.d.room.Release(1)
	}
	f.of.leave(end.again == 0 && end.taken, end.err)
}

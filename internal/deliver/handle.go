package deliver

import (
	"context"
	"errors"
	"sync"

	"pusher/internal/push"
)

// ErrKept says that a record was not taken care of before its time was over: it comes again, here or elsewhere.
var ErrKept = errors.New("not taken care of in time: the record comes again")

// Handle takes one record in: it decodes it, plans its deliveries and starts them, and returns as soon as they are
// under way. It blocks while there is no room for them (number and bytes). A *push.PoisonError says that the record
// can never become an event, push.ErrTombstone that there is none; any other error that it was not taken in.
//
// done is called once: with nil when every delivery of the record has a row that somebody looks after
// (docs/protocol.md, section 1, step 7); with a poison error when PostgreSQL refuses the record for its own data; with
// ErrKept when ctx, the life of the Kafka generation, or this process ends before that: the record must come again.
func (d *Deliverer) Handle(ctx context.Context, r push.Record, done func(error)) error {
	deliveries, err := d.plan(r)
	if err != nil {
		return err
	}
	room := min(len(deliveries), d.cfg.Waiting) // an event of more channels than there is room for takes all of it
	size := min(int64(len(r.Value)+len(r.Key)), d.cfg.WaitingBytes)
	span := d.traced(r, deliveries)
	if err := d.enter(ctx, room, size); err != nil {
		span.end(Facts{Err: err})
		return err
	}
	group := &party{d: d, left: len(deliveries), size: size, span: span, done: done}
	flights := make([]flight, len(deliveries))
	for i, del := range deliveries {
		flights[i] = flight{d: d, ctx: ctx, del: del, size: size, span: span, of: group, room: i < room}
		flights[i].start()
	}
	return nil
}

// enter waits for room for n deliveries, and for their record's bytes.
func (d *Deliverer) enter(ctx context.Context, n int, size int64) error {
	if d.room.Acquire(ctx, int64(n)) != nil {
		return context.Cause(ctx)
	}
	if d.bytes.Acquire(ctx, size) != nil {
		d.room.Release(int64(n))
		return context.Cause(ctx)
	}
	d.held.bytes.Add(size)
	return nil
}

// party is the deliveries of one record: the last to leave says how it went.
type party struct {
	d    *Deliverer
	size int64  // bytes of the record
	span traced // the record's
	done func(err error)

	mu   sync.Mutex
	left int   // guarded by mu
	kept bool  // guarded by mu; some delivery is not taken care of
	err  error // guarded by mu; some delivery is refused for its own data
}

// leave counts one delivery out.
func (p *party) leave(taken bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left--
	p.kept = p.kept || !taken
	if err != nil {
		p.err = err
	}
	switch {
	case p.left > 0:
	case p.kept:
		p.end(ErrKept)
	default:
		p.end(p.err)
	}
}

// end gives the record's bytes back, and says how it went.
func (p *party) end(err error) {
	p.span.end(Facts{Err: err})
	p.d.bytes.Release(p.size)
	p.d.held.bytes.Add(-p.size)
	p.done(err)
}

package rate

import (
	"context"
	"time"
)

const (
	// callMost is how long a call to Redis may take. Those that wait meanwhile get their slots late, or lose them.
	callMost = 100 * time.Millisecond

	beatEvery = 500 * time.Millisecond // how often this process says that it uses the rate, and finds out whether Redis answers
	askFloor  = 2 * time.Millisecond   // between two calls in vain
)

// dealer deals slots out while somebody waits. Only its own goroutine uses it.
type dealer struct {
	*Limiter

	slots []slot    // taken and not yet due, in order
	ask   int       // slots of one call: fewer after one in vain, so that nobody who asks for many goes without
	askAt time.Time // not before this
	timer *time.Timer
}

// slot is the permission for one request.
type slot struct{ at, until time.Time }

// deal goes on until nobody waits; slots that are left lapse.
func (l *Limiter) deal() {
	d := &dealer{Limiter: l, ask: 1, timer: time.NewTimer(0)}
	defer d.timer.Stop()
	for {
		waiting, beat := d.look()
		if waiting == 0 {
			return
		}
		if beat {
			d.beat()
		}
		now := time.Now()
		switch missing := min(waiting, d.most()) - len(d.slots); {
		case len(d.slots) > 0 && !d.slots[0].at.After(now):
			d.turn(now)
		case missing > 0 && !d.askAt.After(now):
			d.take(min(missing, d.ask))
		default:
			d.sleep(missing > 0)
		}
	}
}

// most is how many slots may lie ready, each for somebody who waits: so much that a call may be slow, and half of what
// all together may take ahead.
func (l *Limiter) most() int { return max(2, int(lookahead/l.interval)/2) }

// batch is how many slots one call takes at most.
func (l *Limiter) batch() int { return max(1, int(batch/l.interval)) }

// look counts those that wait, and says whether it is time for a beat. Without anybody, the dealing is over.
func (d *dealer) look() (waiting int, beat bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting = d.queue.Len()
	d.dealing = waiting > 0
	return waiting, d.dealing && d.beats.due(time.Now())
}

// turn uses the first slot, unless it is too late for it.
func (d *dealer) turn(now time.Time) {
	first := d.slots[0]
	d.slots = d.slots[1:]
	if now.After(first.until) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if next := d.queue.Front(); next != nil {
		close(d.queue.Remove(next).(chan struct{})) //nolint:forcetypeassert // nothing else is in it
	}
}

// take takes up to n slots: of all, or of our own while Redis does not answer.
func (d *dealer) take(n int) {
	d.mu.Lock()
	on := d.local.on
	d.mu.Unlock()
	if on {
		now := time.Now()
		d.keep([]slot{{at: now, until: now.Add(lapse)}})
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callMost)
	defer cancel()
	asked := time.Now()
	got, err := d.source.take(ctx, n)
	now := time.Now() // later than Redis's own: no slot is used before its time
	switch {
	case err != nil:
		d.away(err)
	case !got.ok:
		d.ask = max(1, d.ask/2)
		d.askAt = now.Add(max(got.wait, askFloor))
	default:
		d.ask = min(2*d.ask, d.batch())
		slots, late := make([]slot, n), max(lapseLeast, lapse-now.Sub(asked))
		for i := range slots {
			at := now.Add(got.end - time.Duration(n-i)*d.interval)
			slots[i] = slot{at: at, until: at.Add(late)}
		}
		d.keep(slots)
	}
}

// keep keeps slots until their time, or until that of our own part where it counts.
func (d *dealer) keep(slots []slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range slots {
		if d.local.counts(s.at) {
			s.at = d.local.slot(s.at, d.interval)
			s.until = s.at.Add(lapse)
		}
		d.slots = append(d.slots, s)
	}
}

// sleep waits for the next slot, for the time to ask again, or to be woken.
func (d *dealer) sleep(asks bool) {
	until := d.askAt
	if len(d.slots) > 0 && (!asks || d.slots[0].at.Before(until)) {
		until = d.slots[0].at
	}
	d.timer.Reset(time.Until(until))
	select {
	case <-d.timer.C:
	case <-d.wake:
	}
}

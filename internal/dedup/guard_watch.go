package dedup

import (
	"context"
	"sync"
	"time"
)

// watchdog renews the keys of one call at every third of the lease. It costs nothing but a timer to a call that is
// quicker than that.
type watchdog struct {
	ctx   context.Context // outlives the caller's: a handler may too
	keys  *slips
	held  []slip
	lost  context.CancelCauseFunc
	timer *time.Timer

	mu      sync.Mutex
	until   time.Time // guarded by mu; when the lease ends, by this process's clock, counted from before the call
	stopped bool      // guarded by mu
}

// watch begins to renew. lost is called with ErrLost when a key is found in another call's hands, or when the lease is
// over without a renewal having been answered: then it may be. began is before the claim.
func watch(ctx context.Context, keys *slips, held []slip, began time.Time, lost context.CancelCauseFunc) *watchdog {
	d := &watchdog{ctx: ctx, keys: keys, held: held, lost: lost, until: began.Add(keys.lease)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(keys.lease/3, d.step) // stop waits for a step under way
	return d
}

// step renews all keys in one round trip and winds the timer up again.
func (d *watchdog) step() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(d.ctx, d.keys.lease/3)
	defer cancel()
	answered := true
	for _, r := range d.keys.renews(ctx, d.held) {
		if r.err == nil && r.number(0) == 0 {
			d.lost(ErrLost)
			return
		}
		answered = answered && r.err == nil
	}
	if answered {
		d.until = began.Add(d.keys.lease)
	} else if !time.Now().Before(d.until) {
		d.lost(ErrLost)
		return
	}
	d.timer.Reset(d.keys.lease / 3)
}

// stop ends the renewals and waits for the one under way: none may arrive after the settle.
func (d *watchdog) stop() {
	d.timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
}

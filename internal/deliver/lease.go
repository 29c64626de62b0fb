package deliver

import (
	"sync"
	"time"
)

// lease is the holder's side of a claim: how much of it is left by this process's own clock, counted from before the
// call that got it, never from its answer.
type lease struct {
	length time.Duration
	now    func() time.Time

	mu    sync.Mutex
	since time.Time // guarded by mu; before the claim call, then before the last renewal that was granted
	lost  bool      // guarded by mu; another owner was found: nothing more may leave
}

func newLease(now func() time.Time, length time.Duration) *lease {
	return &lease{length: length, now: now, since: now()}
}

// lose closes the fence for good.
func (l *lease) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
}

// regain opens the fence again: the row was granted anew, by a call made after since.
func (l *lease) regain(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.lost = since, false
}

// extend counts the lease anew from since, the time before a renewal that was granted. A lease that was over by then
// stays over: a process that was frozen past it sends nothing on waking, whoever renewed what meanwhile.
func (l *lease) extend(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if elapsed(l.since, since) < l.length {
		l.since = since
	}
}

// left is how much of the lease remains; nothing once it is lost.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return 0
	}
	return l.length - elapsed(l.since, l.now())
}

// age is how long ago the claim was granted or renewed.
func (l *lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return elapsed(l.since, l.now())
}

// elapsed is the larger of monotonic and wall time from a to b: a suspended machine stops the one, a stepped clock
// falsifies the other (rule F1).
func elapsed(a, b time.Time) time.Duration {
	return max(b.Sub(a), b.Round(0).Sub(a.Round(0)))
}

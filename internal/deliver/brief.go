package deliver

import (
	"context"
	"sync"
	"time"
)

// brief is a context with a time limit, as context.WithTimeout makes it, whose timer is only made for the first who
// waits for its end: what finds its place free, or is answered at once, needs none. It is safe for concurrent use.
type brief struct {
	context.Context //nolint:containedctx // the parent

	until time.Time

	mu    sync.Mutex
	timed context.Context    //nolint:containedctx // guarded by mu; nil until somebody waits
	stop  context.CancelFunc // guarded by mu; of timed
	over  bool               // guarded by mu; end was called
}

// briefly is parent for at most so long. The caller ends it.
func briefly(parent context.Context, most time.Duration) *brief {
	return &brief{Context: parent, until: time.Now().Add(most)}
}

// end is the CancelFunc.
func (b *brief) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.stop != nil {
		b.stop()
	}
}

// Deadline is the sooner of the limit and the parent's.
func (b *brief) Deadline() (time.Time, bool) {
	if parent, ok := b.Context.Deadline(); ok && parent.Before(b.until) {
		return parent, true
	}
	return b.until, true
}

// Done makes the timer.
func (b *brief) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timed == nil {
		b.timed, b.stop = context.WithDeadline(b.Context, b.until)
		if b.over {
			b.stop()
		}
	}
	return b.timed.Done()
}

// Err tells how it ended, by the clock where there is no timer.
func (b *brief) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.timed != nil:
		return b.timed.Err()
	case b.Context.Err() != nil:
		return b.Context.Err()
	case b.over:
		return context.Canceled
	case !time.Now().Before(b.until):
		return context.DeadlineExceeded
	}
	return nil
}

// Value is the parent's. Where there is a timer its own context is asked, by which package context knows its kin.
func (b *brief) Value(key any) any {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timed != nil {
		return b.timed.Value(key)
	}
	return b.Context.Value(key)
}

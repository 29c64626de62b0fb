package rate

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// lookahead is how much of the time line may be taken by all together before its time.
	lookahead = 100 * time.Millisecond

	// lapse is how late a slot may be used: it bounds what a second can see above the rate. The time in which Redis
	// answered counts, but for the least, without which a slow one would leave nothing to use.
	lapse      = 50 * time.Millisecond
	lapseLeast = 10 * time.Millisecond

	// batch is how much of the time line one call takes at most.
	batch = 10 * time.Millisecond

	// longest is the farthest away that somebody who must come again is told.
	longest = time.Hour
)

// Config says what is limited; all of it is required, but for Changed.
type Config struct {
	Name      string                // of what is limited, in Redis keys: equal in all processes that share the rate
	PerSecond float64               // requests a second over all of them; more than 0
	Instance  string                // of this process, in the count of those that share the rate
	Client    redis.UniversalClient // must heed a context's end on the wire

	// Changed is told when this process goes over to its own share, with the reason, and when it comes back. It must
	// not block; it may be nil.
	Changed func(shared bool, reason error)
}

// Limiter lets requests through at a rate. It is safe for concurrent use; while nobody waits it holds no goroutine.
type Limiter struct {
	interval time.Duration // between slots of the rate as a whole
	changed  func(shared bool, reason error)
	source   source
	all      sync.WaitGroup // goroutines; Close waits for them

	mu      sync.Mutex    // guards all below
	queue   list.List     // of chan struct{}, one for each that waits; closed when its turn comes
	dealing bool          // a goroutine deals slots out
	wake    chan struct{} // wakes it: somebody came, or the last one left
	local   local
	beats   beats
	horizon time.Time // when the last of those that were sent away may come again
}

// New makes a limiter. Close it in the end.
func New(cfg Config) *Limiter {
	interval := time.Duration(float64(time.Second) / cfg.PerSecond)
	return newLimiter(interval, newShared(cfg, interval), cfg.Changed)
}

func newLimiter(interval time.Duration, from source, changed func(bool, error)) *Limiter {
	if changed == nil {
		changed = func(bool, error) {}
	}
	return &Limiter{interval: interval, changed: changed, source: from, wake: make(chan struct{}, 1)}
}

// Close waits for what is on its way. Nobody may wait any more.
func (l *Limiter) Close() { l.all.Wait() }

// CrowdedError says that a request's turn does not come as long as its context lasts.
type CrowdedError struct {
	Wait time.Duration // when its turn would come, those that were sent away before it counted
}

// Error says when the turn would come.
func (e *CrowdedError) Error() string {
	return fmt.Sprintf("the rate leaves no room for another %s", e.Wait.Round(time.Millisecond))
}

// Wait returns nil when it is the caller's turn to make one request. A caller whose turn cannot come before the end of
// ctx gets a *CrowdedError, at once where that is plain; one whose ctx is canceled gets its error.
func (l *Limiter) Wait(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	turn := make(chan struct{})
	l.mu.Lock()
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < time.Duration(l.queue.Len())*l.interval {
		defer l.mu.Unlock()
		return l.crowded()
	}
	place := l.queue.PushBack(turn)
	if !l.dealing {
		l.dealing = true
		l.all.Go(l.deal)
	}
	l.mu.Unlock()
	l.nudge()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		return l.leave(place, turn, ctx.Err())
	}
}

// leave takes a waiter out of the queue; one whose turn came in that very moment stays in.
func (l *Limiter) leave(place *list.Element, turn chan struct{}, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-turn:
		return nil
	default:
	}
	l.queue.Remove(place)
	if l.queue.Len() == 0 {
		l.nudge()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return l.crowded()
	}
	return err
}

// crowded sends somebody away until those before it have had their turns, at this process's share; each one sent away
// is told a later time, so that a backlog comes back at the rate and not all at once. The caller holds the lock.
func (l *Limiter) crowded() error {
	now := time.Now()
	apart := l.interval * time.Duration(l.local.company())
	first := now.Add(time.Duration(l.queue.Len()) * apart)
	if l.horizon.Before(first) {
		l.horizon = first
	}
	l.horizon = l.horizon.Add(apart)
	if most := now.Add(longest); l.horizon.After(most) {
		l.horizon = most
	}
	return &CrowdedError{Wait: l.horizon.Sub(now)}
}

// nudge wakes the dealer.
func (l *Limiter) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Slow halves the pace of this process: the provider says that it is too fast. It comes back within some seconds.
func (l *Limiter) Slow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.local.slow(time.Now())
}

// State is what a limiter does at the moment.
type State struct {
	Shared    bool // the rate is shared through Redis; false: this process keeps to its share
	Waiting   int  // requests that wait for their turn
	Instances int  // processes that share the rate, as far as is known; 0: nobody has said yet
}

// State tells what the limiter does.
func (l *Limiter) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{Shared: !l.local.on, Waiting: l.queue.Len(), Instances: l.local.instances}
}

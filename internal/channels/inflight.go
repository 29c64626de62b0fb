package channels

import (
	"container/list"
	"context"
	"sync"
	"time"
)

const (
	// leastOut is the floor of the limit of requests out at once: so many find out whether the provider is well again.
	leastOut = 4

	// judgeEvery and judgeFrom are the time, and the answers, after which the limit is looked at again.
	judgeEvery = time.Second
	judgeFrom  = 10

	// strainedMost is the share of answers that may be signs of strain without the limit giving way.
	strainedMost = 0.1

	// steps is how many judgements take the limit from nothing to its ceiling.
	steps = 32
)

// answer is what the end of a request says about how much the provider can take.
type answer int

const (
	silent   answer = iota // nothing: no request was made, or it ended for a reason of its own
	easy                   // it was answered
	strained               // it took too long, or the provider says that all are too fast
)

// inflight bounds the requests that are out at a provider at once. Where more than a few of them are signs of strain,
// the bound gives way by half of their share; without any it grows step by step, as long as it is made use of. How long
// an answer takes is no sign, so that a provider that is slow and steady is used to the full. Who waits enters in order.
type inflight struct {
	ceiling float64
	now     func() time.Time

	mu     sync.Mutex // guards all below
	limit  float64
	held   int       // have entered; out are those of them that have a request at the provider
	out    int       //
	queue  list.List // of chan struct{}, one for each that waits; closed when it has entered
	window window
}

// window is what was seen since the last judgement.
type window struct {
	began    time.Time
	answers  int
	strained int
	held     int // the most
	out      int // the most
}

func newInflight(most int, now func() time.Time) *inflight {
	most = max(1, most)
	return &inflight{ceiling: float64(most), limit: float64(most), now: now, window: window{began: now()}}
}

// enter waits for a place.
func (i *inflight) enter(ctx context.Context) error {
	i.mu.Lock()
	if i.queue.Len() == 0 && i.held < int(i.limit) {
		i.hold()
		i.mu.Unlock()
		return nil
	}
	entered := make(chan struct{})
	place := i.queue.PushBack(entered)
	i.mu.Unlock()
	select {
	case <-entered:
		return nil
	case <-ctx.Done():
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case <-entered:
		return nil
	default:
		i.queue.Remove(place)
		return ctx.Err()
	}
}

// hold gives a place away; the caller holds the lock.
func (i *inflight) hold() {
	i.held++
	i.window.held = max(i.window.held, i.held)
}

// send notes that the request of somebody who has entered is made now.
func (i *inflight) send() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.out++
	i.window.out = max(i.window.out, i.out)
}

// back gives the place of somebody back whose request was never made.
func (i *inflight) back() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.release()
}

// leave gives a place back whose request has ended.
func (i *inflight) leave(how answer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.out--
	i.learn(how)
	i.release()
}

// release gives a place back and lets in who waits; the caller holds the lock.
func (i *inflight) release() {
	i.held--
	for i.queue.Len() > 0 && i.held < int(i.limit) {
		i.hold()
		close(i.queue.Remove(i.queue.Front()).(chan struct{})) //nolint:forcetypeassert // nothing else is in it
	}
}

// learn counts an answer, and judges the limit when it is time; the caller holds the lock.
func (i *inflight) learn(how answer) {
	switch how {
	case silent:
		return
	case strained:
		i.window.strained++
	case easy:
	}
	i.window.answers++
	now := i.now()
	if i.window.answers < judgeFrom || now.Sub(i.window.began) < judgeEvery {
		return
	}
	switch share := float64(i.window.strained) / float64(i.window.answers); {
	case share > strainedMost:
		floor := min(leastOut, i.ceiling)
		i.limit = max(floor, min(i.limit, float64(i.window.out))*(1-share/2))
	case share == 0 && float64(2*i.window.held) >= i.limit:
		i.limit = min(i.ceiling, i.limit+max(1, i.ceiling/steps))
	}
	i.window = window{began: now, held: i.held, out: i.out}
}

// state tells how many requests are out, and how many may be.
func (i *inflight) state() (out, limit int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.out, int(i.limit)
}

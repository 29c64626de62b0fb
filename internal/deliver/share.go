package deliver

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"pusher/internal/push"
)

// codeBusy is the error code of a delivery that its channel had no room for.
const codeBusy = "channel_busy"

// share is what one channel may hold of the whole, so that a provider that hangs, trickles or refuses holds back its
// own channel only: an equal part of worker.in_flight, and of worker.waiting (number and bytes) a part that leaves as
// much again to everything else. What comes on top of it is given back and scheduled, never waited for.
type share struct {
	slots     *semaphore.Weighted // requests out at once
	most      int
	mostBytes int64

	mu    sync.Mutex
	held  int   // guarded by mu; deliveries that wait for a slot or are being sent
	bytes int64 // guarded by mu; of their records
}

// newShares parts the whole among the channels that have a provider. The inbox has none, and needs no share.
func newShares(cfg Config) map[push.Action]*share {
	shares := map[push.Action]*share{}
	for action := range cfg.Channels {
		if action.Capability() != push.Transactional {
			shares[action] = nil
		}
	}
	n := len(shares)
	for action := range shares {
		shares[action] = &share{
			slots: semaphore.NewWeighted(int64(max(1, cfg.InFlight/n))),
			most:  max(1, cfg.Waiting/(n+1)), mostBytes: cfg.WaitingBytes / int64(n+1),
		}
	}
	return shares
}

// enter takes a delivery in whose record has that many bytes, unless the share is used up. One alone always fits.
func (s *share) enter(bytes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held > 0 && (s.held >= s.most || s.bytes+bytes > s.mostBytes) {
		return false
	}
	s.held++
	s.bytes += bytes
	return true
}

// leave gives back what enter took.
func (s *share) leave(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
	s.bytes -= bytes
}

// share is the delivery's part of its channel's share for as long as it is sent; false: the share is used up. A channel
// without provider has no bounds of its own.
func (t *turn) share() (leave func(), ok bool) {
	s := t.d.shares[t.del.Action]
	if s == nil {
		return func() {}, true
	}
	if !s.enter(t.size) {
		return nil, false
	}
	return func() { s.leave(t.size) }, true
}

// slot waits for one of the requests that the channel may have out at once; false: none was free for as long as a lease,
// or the process is to stop.
func (t *turn) slot() (leave func(), ok bool) {
	s := t.d.shares[t.del.Action]
	if s == nil {
		return func() {}, true
	}
	leave = func() { s.slots.Release(1) }
	if s.slots.TryAcquire(1) {
		return leave, true
	}
	ctx, cancel := context.WithTimeout(t.d.life, t.d.cfg.Lease)
	defer cancel()
	go func() { // ends with ctx
		select {
		case <-t.d.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return leave, s.slots.Acquire(ctx, 1) == nil
}

// crowded is the result of an attempt that its channel has no room for: nothing left, no retry is used, and it is due
// again after the backoff (rule P2).
func (t *turn) crowded(row push.Row) push.Result {
	return t.failed(row, &push.Failure{
		Class: push.Throttled, Scope: push.ScopeChannel, Code: codeBusy, Unsent: true,
		Message: "the channel has as much under way as it may",
	})
}

package deliver

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"pusher/internal/push"
)

// codeBusy is the error code of a delivery that its channel had no room for.
const codeBusy = "channel_busy"

// shareWait is how long a delivery waits for its channel's part of the room: a provider that is merely slow is waited
// for. Once somebody has waited in vain nobody does, until the provider is trusted again.
const shareWait = time.Second

// trusted is how many answers in a row make a provider worth waiting for again. One that answers now and then and hangs
// in between would else be waited for time and again, by deliveries that hold the room of all.
const trusted = 10

// share is what one channel may hold of the whole, so that a provider that hangs, trickles or refuses holds back its
// own channel only. Of worker.in_flight a channel with company leaves a quarter to the others, of worker.waiting (number
// and bytes) as much as it takes itself. What finds no place in time is given back and scheduled, unless there is no other
// channel: then it waits.
type share struct {
	slots *semaphore.Weighted // requests out at once
	room  *semaphore.Weighted // deliveries that wait for a slot or are being sent
	bytes *semaphore.Weighted // of their records
	most  int64               // the size of bytes
	alone bool                // no other channel is configured: its backlog waits in Kafka, since it holds nobody up

	stuck   atomic.Bool  // somebody waited in vain, and the provider is not trusted again
	answers atomic.Int32 // in a row, while stuck
}

// enter takes a delivery in whose record has that many bytes; false: there was no room in time.
func (s *share) enter(ctx context.Context, size int64) bool {
	if s.room.TryAcquire(1) && s.holds(s.bytes.TryAcquire(size)) {
		return true
	}
	if s.alone {
		return s.room.Acquire(ctx, 1) == nil && s.holds(s.bytes.Acquire(ctx, size) == nil)
	}
	if s.stuck.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, shareWait)
	defer cancel()
	entered := s.room.Acquire(ctx, 1) == nil && s.holds(s.bytes.Acquire(ctx, size) == nil)
	if !entered {
		s.answers.Store(0)
		s.stuck.Store(true)
	}
	return entered
}

// holds gives the place back when there are no bytes to go with it.
func (s *share) holds(bytes bool) bool {
	if !bytes {
		s.room.Release(1)
	}
	return bytes
}

// heard notes how a request ended. What never left says nothing of the provider.
func (s *share) heard(err error) {
	if !s.stuck.Load() {
		return
	}
	if err != nil {
		f := push.FailureOf(err)
		if f.Class == push.Ambiguous {
			s.answers.Store(0)
		}
		if f.Class == push.Ambiguous || f.Unsent {
			return
		}
	}
	if s.answers.Add(1) >= trusted {
		s.stuck.Store(false)
	}
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
	slots := cfg.InFlight
	if n > 1 {
		slots -= slots / 4
	}
	most := max(1, cfg.WaitingBytes/int64(n+1))
	for action := range shares {
		shares[action] = &share{
			slots: semaphore.NewWeighted(int64(slots)),
			room:  semaphore.NewWeighted(int64(max(1, cfg.Waiting/(n+1)))),
			bytes: semaphore.NewWeighted(most), most: most,
			alone: len(cfg.Channels) == 1,
		}
	}
	return shares
}

// share is the delivery's part of its channel's room until its result is written, or vacate gives it back; false: there
// was none in time. A channel without provider has no bounds of its own.
func (t *turn) share() bool {
	s := t.d.shares[t.del.Action]
	if s == nil {
		return true
	}
	size := min(t.size, s.most) // one alone always fits
	if !s.enter(t.d.open, size) {
		return false
	}
	t.place = func() { s.room.Release(1); s.bytes.Release(size) }
	return true
}

// vacate gives the delivery's part of its channel's room back.
func (t *turn) vacate() {
	if t.place != nil {
		t.place()
		t.place = nil
	}
}

// slot waits for one of the requests that may be out at once, of the channel's and of all; false: none was free for as
// long as a lease, or the process is to stop.
func (t *turn) slot() (leave func(), ok bool) {
	s := t.d.shares[t.del.Action]
	if s == nil {
		return func() {}, true
	}
	ctx := briefly(t.d.open, t.d.cfg.Lease)
	defer ctx.end()
	if !s.slots.TryAcquire(1) && s.slots.Acquire(ctx, 1) != nil {
		return nil, false
	}
	if !t.d.slots.TryAcquire(1) && t.d.slots.Acquire(ctx, 1) != nil {
		s.slots.Release(1)
		return nil, false
	}
	return func() { t.d.slots.Release(1); s.slots.Release(1) }, true
}

// crowded is the result of an attempt that its channel has no room for: nothing left, no retry is used, and it is due
// again after the backoff (rule P2). It is no provider's refusal, so it concerns this message only.
func (t *turn) crowded(row push.Row) push.Result {
	return t.failed(row, &push.Failure{
		Class: push.Throttled, Code: codeBusy, Unsent: true,
		Message: "the channel has as much under way as it may",
	})
}

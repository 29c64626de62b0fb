package deliver

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// batchMost bounds one batch at Redis or PostgreSQL.
const batchMost = 300

// crew is what a Deliverer's goroutines have in common; it counts those that belong to no single delivery.
type crew struct {
	sync.WaitGroup

	life   context.Context //nolint:containedctx // the process's own
	tracer Tracer          // nil: nobody looks
}

// batcher gathers single calls into batches. Nothing waits for a timer: an idle batcher sends a call at once, and while
// a batch is out, further calls gather, so that batches grow with the load. A second batch leaves beside the first only
// when it is full: two small ones cost more than one of twice the size. The queue needs no bound of its own, since
// deliveries are bounded where they are let in.
type batcher[Q, A any] struct {
	crew   *crew
	stage  string                         // names its spans
	beside int                            // batches out at once
	most   int                            // items a batch
	limit  time.Duration                  // the longest one batch may take
	do     func(context.Context, []Q) []A // answers item by item, in order

	waiters sync.Pool // of waiter[A], for ask

	mu    sync.Mutex
	queue []call[Q, A] // guarded by mu
	last  uint64       // guarded by mu; numbers the calls
	out   int          // guarded by mu; batches
}

// call is one item on its way, and who gets its answer.
type call[Q, A any] struct {
	n    uint64
	ctx  context.Context //nolint:containedctx // what has ended before its batch leaves is not asked
	ask  Q
	to   receiver[A]
	span traced // its own part: ends with the answer
}

// receiver gets the answer to one call, once, in the goroutine of its batch: it must not wait, since the answers of others
// come behind it. An error is the cause of its context's end, and says that the call was not asked at all.
type receiver[A any] interface{ answered(a A, err error) }

// waiter is the receiver of somebody who waits.
type waiter[A any] chan answer[A]

type answer[A any] struct {
	a   A
	err error
}

func (w waiter[A]) answered(a A, err error) { w <- answer[A]{a, err} }

func newBatcher[Q, A any](
	c *crew, stage string, beside int, limit time.Duration, do func(context.Context, []Q) []A,
) *batcher[Q, A] {
	return &batcher[Q, A]{crew: c, stage: stage, beside: beside, most: batchMost, limit: limit, do: do}
}

// ask hands one item over and waits for its answer, a part of span. It gives up only while the item is in no batch: from
// then on the answer comes, bounded by the batch's limit, so that no write is left in doubt by our own impatience.
func (b *batcher[Q, A]) ask(ctx context.Context, span traced, q Q) (A, error) {
	w, ok := b.waiters.Get().(waiter[A])
	if !ok {
		w = make(waiter[A], 1)
	}
	defer b.waiters.Put(w)
	n := b.post(ctx, span, q, w)
	select {
	case got := <-w:
		return got.a, got.err
	case <-ctx.Done():
		b.withdraw(n)
		got := <-w
		return got.a, got.err
	}
}

// post hands one item over as ask does, and does not wait: to gets the answer. It returns the number of the call.
func (b *batcher[Q, A]) post(ctx context.Context, span traced, q Q, to receiver[A]) uint64 {
	span = span.part(b.stage)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	b.queue = append(b.queue, call[Q, A]{n: b.last, ctx: ctx, ask: q, to: to, span: span})
	b.leave()
	return b.last
}

// withdraw gives a call up that is in no batch yet.
func (b *batcher[Q, A]) withdraw(n uint64) {
	b.mu.Lock()
	i := slices.IndexFunc(b.queue, func(c call[Q, A]) bool { return c.n == n })
	if i < 0 {
		b.mu.Unlock()
		return
	}
	c := b.queue[i]
	b.queue = slices.Delete(b.queue, i, i+1)
	b.mu.Unlock()
	c.giveUp()
}

// giveUp answers a call that was not asked.
func (c *call[Q, A]) giveUp() {
	var none A
	err := context.Cause(c.ctx)
	c.span.end(Facts{Err: err})
	c.to.answered(none, err)
}

// leave sends a batch off where one may go; the caller holds the lock.
func (b *batcher[Q, A]) leave() {
	if len(b.queue) == 0 || b.out == b.beside || b.out > 0 && len(b.queue) < b.most {
		return
	}
	b.out++
	b.crew.Go(b.run)
}

// run is one batch. The next one may leave before its answers are handed out.
func (b *batcher[Q, A]) run() {
	b.gather()
	batch := b.take()
	answers := b.flush(batch)
	b.mu.Lock()
	b.out--
	b.leave()
	b.mu.Unlock()
	for i, a := range answers {
		if c := &batch[i]; c.span.Span != nil {
			c.span.end(said(a))
		}
		batch[i].to.answered(a, nil)
	}
}

// gather lets those that are awake come along, such as the deliveries that another stage has just answered, for as long
// as any does and there is room.
func (b *batcher[Q, A]) gather() {
	for had := 0; ; runtime.Gosched() {
		b.mu.Lock()
		has := len(b.queue)
		b.mu.Unlock()
		if has == had || has >= b.most {
			return
		}
		had = has
	}
}

// take takes what has gathered into a batch, and gives up what has ended meanwhile.
func (b *batcher[Q, A]) take() []call[Q, A] {
	b.mu.Lock()
	n := min(len(b.queue), b.most)
	taken := slices.Clone(b.queue[:n])
	b.queue = slices.Delete(b.queue, 0, n)
	b.mu.Unlock()
	batch := taken[:0]
	for _, c := range taken {
		if c.ctx.Err() != nil {
			c.giveUp()
			continue
		}
		batch = append(batch, c)
	}
	return batch
}

// flush sends a batch and waits for its answers.
func (b *batcher[Q, A]) flush(batch []call[Q, A]) []A {
	if len(batch) == 0 {
		return nil
	}
	asks := make([]Q, len(batch))
	for i, c := range batch {
		asks[i] = c.ask
	}
	ctx, cancel := context.WithTimeout(b.crew.life, b.limit)
	defer cancel()
	defer batched(b.crew.tracer, b.stage, batch).end(Facts{})
	return b.do(ctx, asks)
}

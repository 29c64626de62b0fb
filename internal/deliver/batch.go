package deliver

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// batcher gathers single calls into batches. Nothing waits for a timer: an idle batcher sends a call at once, and
// while its runners are out, further calls gather, so that batches grow with the load.
type batcher[Q, A any] struct {
	stage  string // names its spans
	tracer Tracer // nil: nobody looks

	calls chan call[Q, A]
	do    func(context.Context, []Q) []A // answers item by item, in order
	most  int                            // items a batch
	limit time.Duration                  // the longest one batch may take

	waiters sync.Pool // of waiter[A], for ask
}

// call is one item on its way, and who gets its answer.
type call[Q, A any] struct {
	ask  Q
	to   receiver[A]
	span traced // its own part: ends with the answer
}

// receiver gets the answer to one call, once, in the goroutine of the batcher: it must not wait.
type receiver[A any] interface{ answered(a A) }

// waiter is the receiver of somebody who waits.
type waiter[A any] chan A

func (w waiter[A]) answered(a A) { w <- a }

func newBatcher[Q, A any](
	t Tracer, stage string, most int, limit time.Duration, do func(context.Context, []Q) []A,
) *batcher[Q, A] {
	return &batcher[Q, A]{stage: stage, tracer: t, calls: make(chan call[Q, A], most), do: do, most: most, limit: limit}
}

// ask hands one item over and waits for its answer, a part of span. It gives up only while the item has not been taken into a
// batch's queue: from then on the answer comes, bounded by the batch's limit, so that no write is left in doubt by
// our own impatience.
func (b *batcher[Q, A]) ask(ctx context.Context, span traced, q Q) (A, error) {
	w, ok := b.waiters.Get().(waiter[A])
	if !ok {
		w = make(waiter[A], 1)
	}
	defer b.waiters.Put(w)
	if err := b.post(ctx, span, q, w); err != nil {
		var none A
		return none, err
	}
	return <-w, nil
}

// post hands one item over as ask does, and does not wait: to gets the answer.
func (b *batcher[Q, A]) post(ctx context.Context, span traced, q Q, to receiver[A]) error {
	span = span.part(b.stage)
	select {
	case b.calls <- call[Q, A]{ask: q, to: to, span: span}:
		return nil
	case <-ctx.Done():
		span.end(Facts{Err: context.Cause(ctx)})
		return context.Cause(ctx)
	}
}

// start runs n runners until stop closes and the queue is empty; wg waits for them.
func (b *batcher[Q, A]) start(ctx context.Context, wg *sync.WaitGroup, stop <-chan struct{}, n int) {
	for range n {
		wg.Go(func() {
			for b.step(ctx, stop) {
			}
		})
	}
}

// step runs one batch: it waits for a first call, then takes what has gathered. It returns false when stop is closed.
func (b *batcher[Q, A]) step(ctx context.Context, stop <-chan struct{}) bool {
	var batch []call[Q, A]
	select {
	case c := <-b.calls:
		batch = append(make([]call[Q, A], 0, min(1+len(b.calls), b.most)), c)
	case <-stop:
		return false
	}
	for grown := true; grown && len(batch) < b.most; {
		runtime.Gosched() // those that are awake already, as after the answers of another stage, come along
		n := len(batch)
		batch = b.gather(batch)
		grown = len(batch) > n
	}
	b.flush(ctx, batch)
	return true
}

// gather takes what has gathered into a batch.
func (b *batcher[Q, A]) gather(batch []call[Q, A]) []call[Q, A] {
	for len(batch) < b.most {
		select {
		case c := <-b.calls:
			batch = append(batch, c)
		default:
			return batch
		}
	}
	return batch
}

func (b *batcher[Q, A]) flush(ctx context.Context, batch []call[Q, A]) {
	asks := make([]Q, len(batch))
	for i, c := range batch {
		asks[i] = c.ask
	}
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	defer batched(b.tracer, b.stage, batch).end(Facts{})
	for i, a := range b.do(ctx, asks) {
		if c := batch[i]; c.span.Span != nil {
			c.span.end(said(a))
		}
		batch[i].to.answered(a)
	}
}

package deliver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// double answers each number with its double and keeps the sizes of its batches.
type double struct {
	mu    sync.Mutex
	sizes []int
	gate  chan struct{} // a batch leaves when it gets a token; nil: at once
}

func (d *double) do(_ context.Context, asks []int) []int {
	d.mu.Lock()
	d.sizes = append(d.sizes, len(asks))
	d.mu.Unlock()
	if d.gate != nil {
		<-d.gate
	}
	answers := make([]int, len(asks))
	for i, a := range asks {
		answers[i] = 2 * a
	}
	return answers
}

func startBatcher(t *testing.T, most, runners int, d *double) *batcher[int, int] {
	t.Helper()
	b := newBatcher(nil, "", most, time.Minute, d.do)
	stop := make(chan struct{})
	var crew sync.WaitGroup
	b.start(t.Context(), &crew, stop, runners)
	t.Cleanup(func() { close(stop); crew.Wait() })
	return b
}

func TestBatcherAnswersEachCallItsOwn(t *testing.T) {
	t.Parallel()
	b := startBatcher(t, 7, 2, &double{})
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			if got, err := b.ask(t.Context(), traced{}, i); err != nil || got != 2*i {
				t.Errorf("ask(%d) = %d, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

func TestBatcherGathersWhileABatchIsOut(t *testing.T) {
	t.Parallel()
	d := &double{gate: make(chan struct{})}
	b := startBatcher(t, 50, 1, d)
	var calls sync.WaitGroup
	for i := range 41 {
		calls.Go(func() { _, _ = b.ask(t.Context(), traced{}, i) })
		if i == 0 { // the first goes alone; the others gather behind it
			waitFor(t, func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.sizes) == 1 })
		}
	}
	waitFor(t, func() bool { return len(b.calls) == 40 })
	close(d.gate)
	calls.Wait()
	if len(d.sizes) != 2 || d.sizes[0] != 1 || d.sizes[1] != 40 {
		t.Errorf("batches of %v, want [1 40]", d.sizes)
	}
}

func TestBatcherNeverExceedsItsMost(t *testing.T) {
	t.Parallel()
	d := &double{}
	b := startBatcher(t, 4, 1, d)
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() { _, _ = b.ask(t.Context(), traced{}, i) })
	}
	calls.Wait()
	for _, size := range d.sizes {
		if size > 4 {
			t.Errorf("a batch of %d, want at most 4", size)
		}
	}
}

func TestBatcherGivesUpOnlyBeforeTheQueue(t *testing.T) {
	t.Parallel()
	b := newBatcher(nil, "", 1, time.Minute, (&double{}).do) // no runner: the queue of 1 fills
	b.calls <- call[int, int]{to: make(waiter[int], 1)}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := b.ask(ctx, traced{}, 1); !errors.Is(err, cause) {
		t.Errorf("ask = %v, want the cause", err)
	}
}

// waitFor polls until cond holds; the test fails when it never does.
func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition never came true")
		}
	}
}

package deliver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

func startBatcher(t *testing.T, most, beside int, d *double) *batcher[int, int] {
	t.Helper()
	c := &crew{life: t.Context()}
	b := newBatcher(c, "", beside, time.Minute, d.do)
	b.most = most
	t.Cleanup(c.Wait)
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
	for name, c := range map[string]struct{ beside, most, calls int }{
		"all behind it":               {beside: 1, most: 50, calls: 40},
		"a second waits to be full":   {beside: 2, most: 50, calls: 40},
		"a second leaves when full":   {beside: 2, most: 40, calls: 40},
		"but no third, full as it is": {beside: 2, most: 20, calls: 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &double{gate: make(chan struct{})}
				b := startBatcher(t, c.most, c.beside, d)
				var answers counter
				b.post(t.Context(), traced{}, 0, &answers)
				synctest.Wait() // the first goes alone
				for range c.calls {
					b.post(t.Context(), traced{}, 1, &answers)
				}
				synctest.Wait()
				d.mu.Lock()
				want := []int{1}
				if c.beside > 1 && c.most <= c.calls {
					want = append(want, c.most)
				}
				if !slices.Equal(d.sizes, want) {
					t.Errorf("batches of %v are out, want %v", d.sizes, want)
				}
				d.mu.Unlock()
				close(d.gate)
				b.crew.Wait()
				if got := int(answers.n.Load()); got != 1+c.calls {
					t.Errorf("%d answers to %d calls, in batches of %v", got, 1+c.calls, d.sizes)
				}
			})
		})
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

func TestBatcherGivesUpOnlyWhatIsInNoBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &double{gate: make(chan struct{})}
		b := startBatcher(t, 50, 1, d)
		ctx, cancel := context.WithCancelCause(t.Context())
		said := map[string]error{}
		var mu sync.Mutex
		ask := func(name string) {
			_, err := b.ask(ctx, traced{}, 1)
			mu.Lock()
			defer mu.Unlock()
			said[name] = err
		}
		go ask("in a batch")
		synctest.Wait()
		go ask("in the queue")
		var posted counter
		b.post(ctx, traced{}, 1, &posted)
		synctest.Wait()
		cause := errors.New("enough")
		cancel(cause)
		synctest.Wait()
		if err, there := said["in the queue"]; !there || !errors.Is(err, cause) || len(said) != 1 {
			t.Errorf("they came to %v, want the cause for the one that waits in the queue", said)
		}
		close(d.gate)
		synctest.Wait()
		if err, there := said["in a batch"]; !there || err != nil {
			t.Errorf("in a batch: %v", err)
		}
		if posted.refused.Load() != 1 || posted.n.Load() != 1 || len(d.sizes) != 1 {
			t.Errorf("posted: answered %d times, asked in batches of %v", posted.n.Load(), d.sizes)
		}
	})
}

// counter counts the answers that it gets.
type counter struct{ n, refused atomic.Int64 }

func (c *counter) answered(_ int, err error) {
	c.n.Add(1)
	if err != nil {
		c.refused.Add(1)
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

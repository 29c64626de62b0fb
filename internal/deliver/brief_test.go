package deliver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBriefEndsAsAContextWithTimeoutDoes(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	for name, c := range map[string]struct {
		end  func(b *brief, parent context.CancelFunc)
		want error
	}{
		"lives":                     {func(*brief, context.CancelFunc) {}, nil},
		"its time is over":          {func(*brief, context.CancelFunc) { time.Sleep(limit) }, context.DeadlineExceeded},
		"it is ended":               {func(b *brief, _ context.CancelFunc) { b.end() }, context.Canceled},
		"its parent is ended":       {func(_ *brief, parent context.CancelFunc) { parent() }, context.Canceled},
		"ended after its time":      {func(b *brief, _ context.CancelFunc) { time.Sleep(limit); synctest.Wait(); b.end() }, nil},
		"ended twice":               {func(b *brief, _ context.CancelFunc) { b.end(); b.end() }, context.Canceled},
		"ended before its own time": {func(b *brief, _ context.CancelFunc) { time.Sleep(limit / 2); b.end() }, context.Canceled},
	} {
		for _, waited := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(t.Context())
					defer cancel()
					b := briefly(parent, limit)
					defer b.end()
					if waited {
						_ = b.Done()
					}
					c.end(b, cancel)
					synctest.Wait()
					want := c.want
					if name == "ended after its time" { // whichever came first, where somebody waited
						want = context.Canceled
						if waited {
							want = context.DeadlineExceeded
						}
					}
					if got := b.Err(); !errors.Is(got, want) {
						t.Fatalf("Err = %v, want %v", got, want)
					}
					select {
					case <-b.Done():
						if want == nil {
							t.Error("it is done")
						}
					default:
						if want != nil {
							t.Error("it is not done")
						}
					}
				})
			})
		}
	}
}

// A context that is made of one ends with it, in the same moment and by no goroutine of its own (goleak would see it).
func TestBriefHandsItsEndDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := briefly(t.Context(), time.Second)
		child, cancel := context.WithCancel(b)
		defer cancel()
		if _, ok := child.Deadline(); !ok {
			t.Error("the child has no deadline")
		}
		b.end()
		if !errors.Is(child.Err(), context.Canceled) {
			t.Errorf("the child's end is %v", child.Err())
		}
	})
}

//nolint:paralleltest // allocations are counted in the whole process
func TestBriefIsOneAllocationWhereNobodyWaits(t *testing.T) {
	parent := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		b := briefly(parent, time.Second)
		if b.Err() != nil {
			t.Error("it has ended")
		}
		b.end()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

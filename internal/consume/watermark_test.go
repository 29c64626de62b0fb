package consume

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestWatermarkMovesOverTheContiguousPrefix(t *testing.T) {
	t.Parallel()
	w := newWatermark(unknown)
	if got := w.position(); got != unknown {
		t.Fatalf("position before the first record: %d", got)
	}
	for _, offset := range []int64{10, 11, 15} { // 12 to 14: compacted, or a transaction's markers
		w.take(offset)
	}
	for _, step := range []struct{ done, want int64 }{{11, 10}, {99, 10}, {10, 15}, {10, 15}, {15, 16}} {
		w.done(step.done)
		if got := w.position(); got != step.want {
			t.Errorf("position after %d is done: %d, want %d", step.done, got, step.want)
		}
	}
}

func TestWatermarkTakesNoRecordTwice(t *testing.T) {
	t.Parallel()
	w := newWatermark(5)
	for _, step := range []struct {
		offset int64
		want   bool
	}{{4, false}, {5, true}, {5, false}, {7, true}, {6, false}} {
		if got := w.take(step.offset); got != step.want {
			t.Errorf("take(%d) = %t, want %t", step.offset, got, step.want)
		}
	}
}

func TestWatermarkDrains(t *testing.T) {
	t.Parallel()
	w := newWatermark(0)
	<-w.drained()
	w.take(0)
	w.take(1)
	drained := w.drained()
	w.done(1)
	select {
	case <-drained:
		t.Fatal("drained with a record out")
	default:
	}
	w.done(0)
	<-drained
}

func TestWatermarkDoesNotWaitForWhatIsGivenBackButStaysBelowIt(t *testing.T) {
	t.Parallel()
	w := newWatermark(0)
	w.take(0)
	w.take(1)
	w.done(1)
	w.giveBack(0)
	w.giveBack(0)
	<-w.drained()
	if got := w.position(); got != 0 {
		t.Errorf("position %d passes the record given back", got)
	}
	w.done(0) // done after all
	if got := w.position(); got != 2 {
		t.Errorf("position %d, want 2", got)
	}
}

func TestInvariantGWatermarkNeverPassesAnUndoneOffsetAndNeverGoesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		next := rapid.Int64Range(0, 1<<40).Draw(t, "start")
		w := newWatermark(next)
		undone := map[int64]bool{}
		before := w.position()
		check := func() {
			at := w.position()
			if at < before {
				t.Fatalf("went back from %d to %d", before, at)
			}
			for offset := range undone {
				if offset < at {
					t.Fatalf("position %d passes the undone offset %d", at, offset)
				}
			}
			if len(undone) == 0 && at != next {
				t.Fatalf("nothing undone, position %d, want %d", at, next)
			}
			if w.undone() != len(undone) || w.reading() != next {
				t.Fatalf("undone %d, reading %d; want %d and %d", w.undone(), w.reading(), len(undone), next)
			}
			before = at
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				next += rapid.Int64Range(0, 3).Draw(t, "gap")
				if !w.take(next) {
					t.Fatalf("offset %d refused", next)
				}
				undone[next] = true
				next++
			},
			"done": func(t *rapid.T) {
				if len(undone) == 0 {
					t.Skip("nothing is out")
				}
				offset := rapid.SampledFrom(sorted(undone)).Draw(t, "offset")
				w.done(offset)
				delete(undone, offset)
			},
			"done for nothing": func(t *rapid.T) {
				offset := rapid.Int64Range(0, 1<<40).Draw(t, "offset")
				if !undone[offset] {
					w.done(offset)
				}
			},
			"": func(*rapid.T) { check() },
		})
	})
}

func sorted(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }

package rate

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// redis_rate's own reading of 100 a second lets 199 through in the first one; here no second sees more than the rate,
// and the rate is used.
func TestNoSecondSeesMoreThanTheRateAndTheRateIsUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rate      float64
		processes int
		waiting   int // at each
	}{
		"one of a second": {1, 1, 5}, "one each two seconds": {0.5, 2, 5}, "ten": {10, 1, 20}, "seven of three": {7, 3, 20},
		"a hundred": {100, 1, 50}, "a hundred of three": {100, 3, 50}, "a hundred of ten": {100, 10, 20},
		"three thousand": {3000, 1, 700}, "three thousand of four": {3000, 4, 300}, "a third": {1.0 / 3, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				line, passed := newLine(c.rate), new(log)
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				var all sync.WaitGroup
				for i := range c.processes {
					l := line.limiter(string(rune('a'+i)), nil)
					defer l.Close()
					patient := context.WithoutCancel(ctx) // no deadline: the whole crowd stays
					stop, end := context.WithCancel(patient)
					defer context.AfterFunc(ctx, end)()
					passed.crowd(stop, &all, l, c.waiting)
				}
				all.Wait()
				most := max(1, int(c.rate)+1)
				if got := passed.worst(); got > most {
					t.Errorf("a second saw %d, want %d at most", got, most)
				}
				if got := float64(len(passed.times)); got < 0.98*c.rate*30-1 {
					t.Errorf("%v passed in 30 s, want 98%% of %v", got, c.rate*30)
				}
			})
		})
	}
}

// Property: whatever Redis and the machine do, no second sees more than a tenth above the rate, whoever asks.
func TestTokensNeverExceed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		perSecond := rapid.SampledFrom([]float64{20, 50, 100, 250, 1000}).Draw(rt, "rate")
		processes := rapid.IntRange(1, 5).Draw(rt, "processes")
		waiting := rapid.IntRange(1, 40).Draw(rt, "waiting")
		slow := time.Duration(rapid.IntRange(1, 40).Draw(rt, "slow")) * time.Millisecond
		seed := rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			line, passed := newLine(perSecond), new(log)
			line.slow = jitter(seed, slow)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for i := range processes {
				l := line.limiter(string(rune('a'+i)), nil)
				defer l.Close()
				passed.crowd(ctx, &all, l, waiting)
			}
			time.Sleep(5 * time.Second)
			cancel()
			all.Wait()
			if got, most := passed.worst(), int(1.1*perSecond)+1; got > most {
				t.Errorf("a second saw %d, want %d at most", got, most)
			}
		})
	})
}

func TestTurnsComeInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(100).limiter("a", nil)
		defer l.Close()
		order := make(chan int, 200)
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				if l.Wait(t.Context()) == nil {
					order <- i
				}
			})
			synctest.Wait()
		}
		all.Wait()
		close(order)
		want := 0
		for got := range order {
			if got != want {
				t.Fatalf("%d came before %d", got, want)
			}
			want++
		}
	})
}

// Slots that nobody needs are nobody's: what one process does not use, another gets whole.
func TestAnIdleProcessHoldsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line, passed := newLine(100), new(log)
		busy, idle := line.limiter("busy", nil), line.limiter("idle", nil)
		defer busy.Close()
		defer idle.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { // now and then a single one
			for range 5 {
				time.Sleep(time.Second)
				if err := idle.Wait(ctx); err != nil {
					t.Error(err)
				}
			}
		})
		passed.crowd(ctx, &all, busy, 20)
		time.Sleep(6 * time.Second)
		cancel()
		all.Wait()
		if got := len(passed.times); got < 590 {
			t.Errorf("the busy one got %d of 600", got)
		}
	})
}

// What a pause left unused is not made up for.
func TestWhatWasNotUsedLapses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, passed := newLine(100).limiter("a", nil), new(log)
		defer l.Close()
		for range 3 {
			time.Sleep(time.Minute)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			passed.crowd(ctx, &all, l, 50)
			time.Sleep(1500 * time.Millisecond)
			cancel()
			all.Wait()
		}
		if got := passed.worst(); got > 101 {
			t.Errorf("a second saw %d", got)
		}
	})
}

// Who cannot have a turn in time is sent away at once, each to a later time, so that a backlog comes back at the rate.
func TestWhoCannotWaitSoLongIsSentAwayToItsOwnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(10).limiter("a", nil)
		defer l.Close()
		patient, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { _ = l.Wait(patient) })
		}
		synctest.Wait()
		time.Sleep(time.Millisecond) // the first beat told that we are one
		began := time.Now()
		var waits []time.Duration
		for range 3 {
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			err := l.Wait(ctx)
			end()
			var crowded *CrowdedError
			if !errors.As(err, &crowded) {
				t.Fatalf("%v", err)
			}
			waits = append(waits, crowded.Wait)
		}
		if since := time.Since(began); since != 0 {
			t.Errorf("waited %s for nothing", since)
		}
		for i, wait := range waits {
			if want := time.Duration(20+i) * 100 * time.Millisecond; wait < want-200*time.Millisecond || wait > want+200*time.Millisecond {
				t.Errorf("the %d. is told to wait %s, want about %s", i+1, wait, want)
			}
		}
		cancel()
		all.Wait()
	})
}

func TestACancelledWaiterLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLine(1).limiter("a", nil)
		defer l.Close()
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- l.Wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
		short, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer end()
		if err := l.Wait(short); !errors.As(err, new(*CrowdedError)) {
			t.Errorf("one whose time is over ends with %v", err)
		}
		if s := l.State(); s.Waiting != 0 {
			t.Errorf("%d wait still", s.Waiting)
		}
	})
}

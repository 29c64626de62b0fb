package rate

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// told is what a limiter told of going over to its share and back.
type told struct {
	mu   sync.Mutex
	list []bool // guarded by mu
}

func (w *told) changed(shared bool, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, shared)
}

// Redis away: each process keeps to its share, so that all together keep the rate, and use it; and when it is back, empty
// and at different times for each, no second sees more either.
func TestSharesKeepTheRateWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line, passed := newLine(100), new(log)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		news := make([]told, 3)
		for i := range news {
			l := line.limiter(string(rune('a'+i)), news[i].changed)
			defer l.Close()
			passed.crowd(ctx, &all, l, 50)
		}
		began := time.Now()
		time.Sleep(10 * time.Second)
		line.set(true)
		time.Sleep(20 * time.Second)
		line.forget()
		line.set(false)
		time.Sleep(10 * time.Second)
		cancel()
		all.Wait()
		if got := passed.worst(); got > 110 {
			t.Errorf("a second saw %d", got)
		}
		for from := range 4 {
			at := began.Add(time.Duration(from) * 10 * time.Second)
			if got := passed.between(at, at.Add(10*time.Second)); got < 950 {
				t.Errorf("%d passed in the ten seconds from %d", got, from*10)
			}
		}
		for i := range news {
			if got := news[i].list; len(got) != 2 || got[0] || !got[1] {
				t.Errorf("told %v; want once that Redis is away, and once that it is back", got)
			}
		}
	})
}

// A Redis that takes longer than it may is one that is away: nobody waits for it longer than that.
func TestASlowRedisIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := newLine(100)
		line.slow = func() time.Duration { return time.Minute }
		l := line.limiter("a", nil)
		defer l.Close()
		began := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(began) > callMost+time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if l.State().Shared {
			t.Error("the rate counts as shared")
		}
	})
}

// A process that has never heard from Redis does not know with how many it shares: it takes a part of the rate.
func TestAProcessThatNeverHeardOfOthersTakesAPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line, passed := newLine(100), new(log)
		line.set(true)
		l := line.limiter("a", nil)
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		passed.crowd(ctx, &all, l, 50)
		time.Sleep(10 * time.Second)
		cancel()
		all.Wait()
		if got := len(passed.times); got < 240 || got > 260 {
			t.Errorf("%d passed in ten seconds, want a quarter of 1000", got)
		}
	})
}

// The provider says that it is too fast: half the pace, and back within seconds.
func TestSlowHalvesThePaceForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, passed := newLine(100).limiter("a", nil), new(log)
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		passed.crowd(ctx, &all, l, 50)
		time.Sleep(2 * time.Second)
		for range 30 { // of many that were on their way
			l.Slow()
		}
		slowed := time.Now()
		time.Sleep(12 * time.Second)
		cancel()
		all.Wait()
		if got := passed.between(slowed.Add(100*time.Millisecond), slowed.Add(1100*time.Millisecond)); got < 45 || got > 58 {
			t.Errorf("%d in the first second, want about half", got)
		}
		if got := passed.between(slowed.Add(11*time.Second), slowed.Add(12*time.Second)); got < 98 {
			t.Errorf("%d after eleven seconds, want the whole", got)
		}
	})
}

func TestSlowEndsAtASixteenth(t *testing.T) {
	t.Parallel()
	var o local
	now := time.Now()
	for range 10 {
		o.slow(now)
		now = now.Add(slowedOnce)
	}
	if got := o.pace(now); got < slowest || got > 0.15 {
		t.Errorf("the pace is %v", got)
	}
	if got := o.pace(now.Add(time.Minute)); got != 1 {
		t.Errorf("the pace is %v after a minute", got)
	}
}

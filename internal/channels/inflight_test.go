package channels

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// provider is one that takes some time for each request, and says that it is too much when too many are in it.
type provider struct {
	latency  func() time.Duration
	capacity int // 0: no end

	mu   sync.Mutex
	in   int // guarded by mu
	most int // guarded by mu
}

func (p *provider) serve() answer {
	p.mu.Lock()
	p.in++
	p.most = max(p.most, p.in)
	over := p.capacity > 0 && p.in > p.capacity
	p.mu.Unlock()
	time.Sleep(p.latency()) // of the bubble's clock
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in--
	if over {
		return strained
	}
	return easy
}

// load makes requests through a bound for so long, from as many callers, and returns how many were served well.
func load(t *testing.T, i *inflight, p *provider, callers int, lasts time.Duration) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var served atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil && i.enter(ctx) == nil {
				i.send()
				how := p.serve()
				if how == easy {
					served.Add(1)
				}
				i.leave(how)
			}
		})
	}
	all.Wait()
	return int(served.Load())
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// A provider that is slow, but steady, is used to the full: at 50 ms and at 200 ms, with 256 and 1024 requests out, and
// when its latency goes up and down.
func TestASlowButSteadyProviderIsUsedToTheFull(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex // guards random
	for name, c := range map[string]struct {
		most    int
		latency func() time.Duration
		mean    time.Duration
	}{
		"256 at 50 ms":   {256, always(50 * time.Millisecond), 50 * time.Millisecond},
		"1024 at 50 ms":  {1024, always(50 * time.Millisecond), 50 * time.Millisecond},
		"256 at 200 ms":  {256, always(200 * time.Millisecond), 200 * time.Millisecond},
		"1024 at 200 ms": {1024, always(200 * time.Millisecond), 200 * time.Millisecond},
		"256 at 50 to 200 ms": {256, func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return 50*time.Millisecond + time.Duration(random.Int64N(int64(150*time.Millisecond)))
		}, 125 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const lasts = 10 * time.Second
				i := newInflight(c.most, time.Now)
				served := load(t, i, &provider{latency: c.latency}, 2*c.most, lasts)
				if want := 0.95 * float64(c.most) * float64(lasts) / float64(c.mean); float64(served) < want {
					t.Errorf("%d served, want %.0f", served, want)
				}
				if _, limit := i.state(); limit != c.most {
					t.Errorf("the limit is %d", limit)
				}
			})
		})
	}
}

// A provider that takes 100 at once is not asked for 1024 for long; and it is used.
func TestTheLimitFindsWhatTheProviderTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, p := newInflight(1024, time.Now), &provider{latency: always(50 * time.Millisecond), capacity: 100}
		load(t, i, p, 2000, 10*time.Second)
		p.most = 0
		served := load(t, i, p, 2000, 20*time.Second)
		if p.most > 170 {
			t.Errorf("%d were out at once", p.most)
		}
		if served < 20*1000 {
			t.Errorf("%d served in 20 s, want half of what it takes", served)
		}
	})
}

// When the provider is well again the limit comes back to its ceiling.
func TestTheLimitComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i, p := newInflight(256, time.Now), &provider{latency: always(time.Second), capacity: -1}
		p.capacity = 1
		load(t, i, p, 500, 30*time.Second)
		if _, limit := i.state(); limit != leastOut {
			t.Errorf("the limit is %d, want the floor", limit)
		}
		p.capacity = 0
		load(t, i, p, 500, 60*time.Second)
		if _, limit := i.state(); limit != 256 {
			t.Errorf("the limit is %d after a minute, want the ceiling", limit)
		}
	})
}

// A few timeouts among many answers are no overload.
func TestAFewTimeoutsChangeNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newInflight(100, time.Now)
		for n := range 1000 {
			if err := i.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
			i.send()
			time.Sleep(10 * time.Millisecond)
			how := easy
			if n%20 == 0 {
				how = strained
			}
			i.leave(how)
		}
		if _, limit := i.state(); limit != 100 {
			t.Errorf("the limit is %d", limit)
		}
	})
}

func TestPlacesAreGivenInOrderAndComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newInflight(1, time.Now)
		if err := i.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		order := make(chan int, 3)
		ctx, cancel := context.WithCancel(t.Context())
		for n := range 3 {
			mine := t.Context()
			if n == 1 {
				mine = ctx
			}
			go func() {
				err := i.enter(mine)
				if (n == 1) != errors.Is(err, context.Canceled) {
					t.Errorf("%d: %v", n, err)
				}
				order <- n
			}()
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		i.back()
		synctest.Wait()
		i.send()
		i.leave(easy)
		synctest.Wait()
		if a, b, c := <-order, <-order, <-order; a != 1 || b != 0 || c != 2 {
			t.Errorf("the order is %d %d %d", a, b, c)
		}
		if out, _ := i.state(); out != 0 || i.held != 1 {
			t.Errorf("%d out, %d held", out, i.held)
		}
	})
}

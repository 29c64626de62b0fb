package rate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

var errAway = errors.New("redis is away")

// line is the time line as Redis keeps it, in memory, with the faults that a test asks for.
type line struct {
	interval time.Duration
	burst    int

	mu    sync.Mutex // guards all below
	tat   time.Time
	users map[string]bool
	slow  func() time.Duration // of each call
	away  bool
	calls int
}

func newLine(perSecond float64) *line {
	interval := time.Duration(float64(time.Second) / perSecond)
	return &line{interval: interval, burst: max(2, int(lookahead/interval)), users: map[string]bool{}, slow: func() time.Duration { return 0 }}
}

// user is one process at the line.
type user struct {
	*line

	name string
}

func (l *line) call(ctx context.Context) error {
	l.mu.Lock()
	l.calls++
	slow, away := l.slow(), l.away
	l.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(slow):
	}
	if away {
		return errAway
	}
	return nil
}

func (u user) take(ctx context.Context, n int) (grant, error) {
	if err := u.call(ctx); err != nil {
		return grant{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	tat := u.tat
	if tat.Before(now) {
		tat = now
	}
	tat = tat.Add(time.Duration(n) * u.interval)
	if over := tat.Sub(now) - time.Duration(u.burst)*u.interval; over > 0 {
		return grant{wait: over}, nil
	}
	u.tat = tat
	return grant{ok: true, end: tat.Sub(now)}, nil
}

func (u user) beat(ctx context.Context) (int, error) {
	if err := u.call(ctx); err != nil {
		return 0, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users[u.name] = true
	return len(u.users), nil
}

func (l *line) set(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
}

// forget empties the line, as a Redis does that lost its memory.
func (l *line) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tat, l.users = time.Time{}, map[string]bool{}
}

// limiter is a process that uses the line.
func (l *line) limiter(name string, changed func(bool, error)) *Limiter {
	return newLimiter(l.interval, user{l, name}, changed)
}

// log is when requests were let through.
type log struct {
	mu    sync.Mutex
	times []time.Time // guarded by mu
}

func (g *log) note() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.times = append(g.times, time.Now())
}

// worst is the most that any second saw, wherever it begins.
func (g *log) worst() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.SortFunc(g.times, time.Time.Compare)
	most, first := 0, 0
	for i, at := range g.times {
		for !g.times[first].After(at.Add(-time.Second)) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// between counts what was let through in a stretch of time.
func (g *log) between(from, to time.Time) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, at := range g.times {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// crowd makes requests at a limiter, so many at once, until ctx ends; all is waited for by the caller.
func (g *log) crowd(ctx context.Context, all *sync.WaitGroup, l *Limiter, n int) {
	for range n {
		all.Go(func() {
			for l.Wait(ctx) == nil {
				g.note()
			}
		})
	}
}

// jitter is a line's slowness: mostly quick, at times not.
func jitter(seed uint64, most time.Duration) func() time.Duration {
	random := rand.New(rand.NewPCG(seed, seed))
	return func() time.Duration {
		if random.IntN(20) == 0 {
			return time.Duration(random.Int64N(int64(most)))
		}
		return time.Duration(random.Int64N(int64(time.Millisecond)))
	}
}

package rate

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/testbed"
)

// open opens a client as the product does: it heeds a context's end on the wire.
func open(t *testing.T, o redis.Options) redis.UniversalClient {
	t.Helper()
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialTimeout = true, -1, time.Second
	client := redis.NewClient(&o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// fleet is some processes that share a rate through a Redis, each with more to do than its part.
func fleet(t *testing.T, perSecond float64, clients ...redis.UniversalClient) (passed *log, limiters []*Limiter, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	passed = new(log)
	for i, client := range clients {
		l := New(Config{Name: "p:1:send", PerSecond: perSecond, Instance: strconv.Itoa(i), Client: client})
		limiters = append(limiters, l)
		passed.crowd(ctx, &all, l, 50)
	}
	return passed, limiters, func() {
		cancel()
		all.Wait()
		for _, l := range limiters {
			l.Close()
		}
	}
}

// Real Redis, three processes, 100 a second together: 95 to 100 are used, and no second sees more than 110.
func TestThreeProcessesShareARateThroughRedis(t *testing.T) {
	t.Parallel()
	o := testbed.Redis(t)
	passed, limiters, stop := fleet(t, 100, open(t, *o), open(t, *o), open(t, *o))
	time.Sleep(3 * time.Second) // what is measured
	for _, l := range limiters {
		if s := l.State(); !s.Shared || s.Instances != 3 {
			t.Errorf("a process says %+v", s)
		}
	}
	client := open(t, *o)
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 2 {
		t.Errorf("the keys are %v, %v", keys, err)
	}
	for _, key := range keys {
		if ttl := client.PTTL(t.Context(), key).Val(); !strings.HasPrefix(key, "push:rate:{p:1:send}") || ttl <= 0 {
			t.Errorf("key %s lives %s", key, ttl)
		}
	}
	stop()
	if got := passed.worst(); got > 110 {
		t.Errorf("a second saw %d", got)
	}
	if got := len(passed.times); got < 270 || got > 310 {
		t.Errorf("%d passed in 3 s", got)
	}
}

// Redis is killed under load and comes back: the rate is kept all the time, and the work goes on.
func TestTheRateIsKeptWhileRedisIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedis(t)
	o := redis.Options{Addr: own.Addr}
	passed, limiters, stop := fleet(t, 100, open(t, o), open(t, o), open(t, o))
	shared := func(want bool) func() bool {
		return func() bool {
			for _, l := range limiters {
				if s := l.State(); s.Shared != want || s.Instances != 3 && !want {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "all have heard of each other", func() bool {
		return !slices.ContainsFunc(limiters, func(l *Limiter) bool { return l.State().Instances != 3 })
	})
	own.Kill()
	eventually(t, "all keep to their shares", shared(false))
	away := time.Now()
	time.Sleep(2 * time.Second) // what is measured
	back := time.Now()
	own.Start()
	eventually(t, "all share again", shared(true))
	time.Sleep(time.Second) // what is measured
	stop()
	if got := passed.worst(); got > 115 {
		t.Errorf("a second saw %d", got)
	}
	if got := float64(passed.between(away, back)) / back.Sub(away).Seconds(); got < 85 {
		t.Errorf("%.0f a second while Redis was away", got)
	}
}

// Those that share a rate are counted while they use it.
func TestWhoUsesTheRateIsCounted(t *testing.T) {
	t.Parallel()
	client := open(t, *testbed.Redis(t))
	for i := range 5 {
		s := newShared(Config{Name: "x", Instance: strconv.Itoa(i % 3), Client: client}, time.Second)
		if n, err := s.beat(t.Context()); err != nil || n != min(i+1, 3) {
			t.Errorf("beat %d counts %d, %v", i, n, err)
		}
	}
	if err := client.ZAdd(t.Context(), "push:rate:{x}:users", redis.Z{Score: 1, Member: "0"}, redis.Z{Score: 1e15, Member: "1"}).Err(); err != nil {
		t.Fatal(err)
	}
	s := newShared(Config{Name: "x", Instance: "9", Client: client}, time.Second)
	if n, err := s.beat(t.Context()); err != nil || n != 2 {
		t.Errorf("%d count, %v; want the one that is left and the new one", n, err)
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

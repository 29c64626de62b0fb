package dedup

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

var errStillWaiting = errors.New("none is to be had yet")

func TestRationIsFewInAPeriodWhoeverTakes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		cfg := RationConfig{Name: "test", Most: 20, Period: time.Hour}
		var taken, denied atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			instance := NewRation(client, cfg)
			for range 25 {
				all.Go(func() {
					switch wait, err := instance.Take(t.Context(), "wx1"); {
					case err != nil:
						t.Error(err)
					case wait == 0:
						taken.Add(1)
					case wait > 59*time.Minute && wait <= time.Hour:
						denied.Add(1)
					default:
						t.Errorf("wait %v, want about an hour", wait)
					}
				})
			}
		}
		all.Wait()
		if taken.Load() != 20 || denied.Load() != 80 {
			t.Errorf("%d taken, %d denied; want 20 and 80", taken.Load(), denied.Load())
		}
		if wait, err := NewRation(client, cfg).Take(t.Context(), "wx2"); wait != 0 || err != nil {
			t.Errorf("another account waits %v, %v", wait, err)
		}
		if ttl := client.PTTL(t.Context(), "push:ration:test:wx1").Val(); ttl <= 0 || ttl > time.Hour {
			t.Errorf("TTL %v", ttl)
		}
	})
}

func TestRationLiesApartAndComesBack(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		apart := NewRation(client, RationConfig{Name: "apart", Most: 3, Period: time.Hour, Apart: 30 * time.Second})
		first, err := apart.Take(t.Context(), "wx1")
		second, err2 := apart.Take(t.Context(), "wx1")
		if err != nil || err2 != nil || first != 0 || second <= 29*time.Second || second > 30*time.Second {
			t.Errorf("waits %v and %v, %v %v; want none, then about 30s", first, second, err, err2)
		}
		brief := NewRation(client, RationConfig{Name: "brief", Most: 1, Period: 50 * time.Millisecond})
		if wait, err := brief.Take(t.Context(), "wx1"); wait != 0 || err != nil {
			t.Fatalf("%v, %v", wait, err)
		}
		eventually(t, func() error {
			wait, err := brief.Take(t.Context(), "wx1")
			if err == nil && wait > 0 {
				err = errStillWaiting
			}
			return err
		})
	})
}

// A clock that went back holds nobody up for longer than the rule does.
func TestRationBearsAClockThatGoesBack(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		r := NewRation(client, RationConfig{Name: "back", Most: 3, Period: time.Hour, Apart: 30 * time.Second})
		client.LPush(t.Context(), "push:ration:back:wx1", now(t, client)+int64(24*time.Hour/time.Millisecond))
		if wait, err := r.Take(t.Context(), "wx1"); err != nil || wait <= 0 || wait > 30*time.Second {
			t.Errorf("wait %v, %v; want at most 30s", wait, err)
		}
	})
}

func TestRationFailsWhenRedisIsAway(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialTimeout: time.Second})
	defer func() { _ = client.Close() }()
	if _, err := NewRation(client, RationConfig{Name: "x", Most: 1, Period: time.Hour}).Take(t.Context(), "wx1"); err == nil {
		t.Error("taken from a Redis that is away")
	}
}

func TestRationInACluster(t *testing.T) {
	t.Parallel()
	r := NewRation(startCluster(t), RationConfig{Name: "c", Most: 1, Period: time.Hour})
	if wait, err := r.Take(t.Context(), "wx1"); wait != 0 || err != nil {
		t.Errorf("%v, %v", wait, err)
	}
}

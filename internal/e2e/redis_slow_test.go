package e2e

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"pusher/internal/config"
	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

// TestFieldReport21_SlowRedis: each reply takes 10 s. A claim's deadline holds all the same, goroutines stay bounded, and
// all goes on at once when it is over.
func TestFieldReport21_SlowRedis(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		own := testbed.OwnRedis(t)
		front := newLine(t, own.Addr)
		s := onRedis(t, 2, mode, front.addr())
		s.run()
		s.events(0, 10)
		s.sentInTheEnd(30)
		s.caughtUp()
		client, err := dedup.Connect(t.Context(), dedup.Config{Addrs: []string{front.addr()}, Timeout: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		before := runtime.NumGoroutine()
		front.delay(10 * time.Second)
		s.events(10, 60)
		inTime(t, dedup.New(client, time.Minute))
		if mode == config.Pause {
			s.unclaimed(10)
		} else {
			s.settledBy(180, time.Now().Add(30*time.Second))
		}
		if more := runtime.NumGoroutine() - before; more > 4*s.cfg.Worker.Waiting {
			t.Errorf("%d more goroutines for %d places", more, s.cfg.Worker.Waiting)
		}
		front.delay(0)
		s.settledBy(180, time.Now().Add(20*time.Second))
		s.caughtUp()
		s.accepted(120)
	})
}

// inTime checks that a claim with a deadline returns in time from a Redis that does not answer.
func inTime(t *testing.T, keys *dedup.Keys) {
	t.Helper()
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		began := time.Now()
		grant := keys.Claim(ctx, []push.Claim{{Key: fmt.Sprint("push:dedup:a:", i, ":sms"), Owner: push.NewOwner(), Window: time.Minute}})[0]
		cancel()
		if took := time.Since(began); grant.Err == nil || took > 1500*time.Millisecond {
			t.Errorf("claim: %+v after %v", grant, took)
		}
	}
}

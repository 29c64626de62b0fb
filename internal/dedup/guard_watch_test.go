package dedup

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// short is a lease that a test can wait for.
func short(c *GuardConfig[order, string]) { c.Lease = 300 * time.Millisecond }

func TestTheWatchdogKeepsALongCallsKey(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	s := newShop(t, client, func(c *GuardConfig[order, string]) { c.Lease = time.Second })
	_, err := s.Do(t.Context(), order{"1", "tea"}, func(ctx context.Context, o order) (string, error) {
		for began := time.Now(); time.Since(began) < 3*time.Second; {
			if _, err := s.Do(t.Context(), o, sell("", nil)); !errors.Is(err, ErrInProgress) {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		}
		return "sold", ctx.Err()
	})
	if err != nil || s.state(t, "1") != "1" {
		t.Error(err)
	}
}

func TestAHandlerWhoseKeyWentToAnotherIsCancelled(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	s := newShop(t, client, short)
	_, err := s.Do(t.Context(), order{"1", "tea"}, func(ctx context.Context, _ order) (string, error) {
		s.set(t, "1", atOwner, "another")
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	if !errors.Is(err, ErrLost) || s.state(t, "1") != "0" {
		t.Errorf("%v", err)
	}
	s.end(t, "1")

	_, err = s.Do(t.Context(), order{"1", "tea"}, func(context.Context, order) (string, error) {
		s.set(t, "1", atOwner, "another")
		return "sold", nil
	})
	if got := s.outcomes(); err != nil || !slices.Contains(got, Lost) || s.state(t, "1") != "0" {
		t.Errorf("a lost call ended with %v, observed %v", err, got)
	}
}

func TestRedisForgetsWhileTheHandlerWorks(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	for name, want := range map[string]struct {
		err   error
		state string
	}{
		"success": {nil, "1"}, "refusal": {Refuse(errBroken), "2"}, "doubt": {Doubt(errBroken), "3"}, "failure": {errBroken, "absent"},
	} {
		s := newShop(t, client, short)
		_, err := s.Do(t.Context(), order{name, "tea"}, func(ctx context.Context, _ order) (string, error) {
			client.Del(t.Context(), s.key(name))
			select {
			case <-ctx.Done():
				t.Errorf("%s: cancelled: %v", name, context.Cause(ctx))
			case <-time.After(400 * time.Millisecond): // a renewal or two
			}
			return "sold", want.err
		})
		if got := s.state(t, name); !errors.Is(err, want.err) || got != want.state {
			t.Errorf("%s: %v, the key says %s", name, err, got)
		}
	}
}

func TestRedisAwayAtTheClaimRunsNoHandler(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := newShop(t, connect(t, Config{Addrs: []string{server.addr}}), nil)
	server.stop()
	_, err := s.Do(t.Context(), order{"1", "tea"}, func(context.Context, order) (string, error) {
		t.Error("the handler ran")
		return "", nil
	})
	var away *UnguardedError
	if !errors.As(err, &away) || !errors.Is(err, ErrUnguarded) || away.Err == nil || s.outcomes()[0] != Unguarded {
		t.Errorf("got %v", err)
	}
}

func TestRedisGoneBeforeTheSettleLeavesTheAnswerAlone(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	s := newShop(t, connect(t, Config{Addrs: []string{server.addr}}), nil)
	answer, err := s.Do(t.Context(), order{"1", "tea"}, func(context.Context, order) (string, error) {
		server.stop()
		return "sold", nil
	})
	if got := s.outcomes(); answer != "sold" || err != nil || !slices.Equal(got, []Outcome{Unsettled}) {
		t.Errorf("%q %v, observed %v", answer, err, got)
	}
}

func TestALeaseWithoutRenewalEndsTheHandler(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	client := redis.NewClient(&redis.Options{Addr: server.addr, MaxRetries: -1, DialTimeout: 100 * time.Millisecond})
	defer client.Close()
	s := newShop(t, client, short)
	_, err := s.Do(t.Context(), order{"1", "tea"}, func(ctx context.Context, _ order) (string, error) {
		server.stop()
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	if !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

// dieHere makes the test below run as the process that dies.
const dieHere = "DEDUP_TEST_DIE_AT"

func TestAProcessThatDies(t *testing.T) {
	t.Parallel()
	if addr := os.Getenv(dieHere); addr != "" {
		s := newShop(t, connect(t, Config{Addrs: []string{addr}}), short)
		_, _ = s.Do(t.Context(), order{"1", "tea"}, func(context.Context, order) (string, error) {
			_, _ = os.Stdout.WriteString("working\n")
			select {}
		})
	}
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	cmd := exec.Command(os.Args[0], "-test.run=^TestAProcessThatDies$")
	cmd.Env = append(os.Environ(), dieHere+"="+client.(*redis.Client).Options().Addr)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "working\n" {
		t.Fatalf("%q %v", line, err)
	}
	s := newShop(t, client, short)
	if _, err := s.Do(t.Context(), order{"1", "tea"}, sell("", nil)); !errors.Is(err, ErrInProgress) {
		t.Errorf("while it lives: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, func() error { // its lease ends
		_, err := s.Do(t.Context(), order{"1", "tea"}, sell("sold", nil))
		return err
	})
	if s.state(t, "1") != "1" {
		t.Error("the next call is not settled")
	}
}

// BenchmarkGuard is the wrapper's cost a call: a claim and a settle at a real Redis, beside a handler that does nothing.
func BenchmarkGuard(b *testing.B) {
	client := connect(b, Config{Addrs: []string{startRedis(b).addr}})
	s := newShop(b, client, func(c *GuardConfig[order, string]) { c.Observe = nil })
	n := 0
	next := func() order { n++; return order{time.Unix(int64(n), 0).String(), "tea"} }
	b.Run("first calls", func(b *testing.B) {
		for b.Loop() {
			_, _ = s.Do(b.Context(), next(), sell("sold", nil))
		}
	})
	b.Run("repeated calls", func(b *testing.B) {
		_, _ = s.Do(b.Context(), order{"1", "tea"}, sell("sold", nil))
		for b.Loop() {
			_, _ = s.Do(b.Context(), order{"1", "tea"}, sell("sold", nil))
		}
	})
	b.Run("a hundred at once", func(b *testing.B) {
		for b.Loop() {
			orders := make([]order, 100)
			for i := range orders {
				orders[i] = next()
			}
			s.DoAll(b.Context(), orders, func(context.Context, []int, []Result[string]) {})
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/call")
	})
}

package dedup

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
)

func claims(from, to int) []push.Claim {
	var out []push.Claim
	for n := from; n < to; n++ {
		out = append(out, push.Claim{Key: keyOf(n), Owner: push.NewOwner(), RecordTime: settledAt, Window: window})
	}
	return out
}

func allGranted(t testing.TB, grants []push.Grant) {
	t.Helper()
	for i, g := range grants {
		if g.Err != nil || g.Verdict != push.Granted {
			t.Fatalf("claim %d: %+v", i, g)
		}
	}
}

func TestNoScriptIsRedoneForTheCommandsThatMissedIt(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		for range 2 {
			if err := client.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			// One script is known, the other is not: a pipeline of both has answers and NOSCRIPT side by side.
			inspect(t, keys, keyOf(0))
			replies := run(t.Context(), client, []call{
				{"inspecting", keys.inspect, keyOf(0), []any{1}},
				{"renewing", keys.renew, keyOf(0), []any{"me", 1}},
				{"inspecting", keys.inspect, keyOf(0), []any{1}},
				{"renewing", keys.renew, keyOf(0), []any{"me", 1}},
			})
			for i, want := range []int{8, 1, 8, 1} {
				if replies[i].err != nil || len(replies[i].items) != want {
					t.Errorf("call %d: %+v", i, replies[i])
				}
			}
		}
	})
}

func TestAnEmptyBatchAsksNothing(t *testing.T) {
	t.Parallel()
	keys := New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:0"}), lease)
	if len(keys.Claim(t.Context(), nil))+len(keys.Settle(t.Context(), nil))+len(keys.Release(t.Context(), nil)) != 0 {
		t.Error("answers to nothing")
	}
	_ = keys.client.Close()
}

func TestOneCommandsFailureIsItsOwn(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	keys := New(client, lease)
	// Whoever may not touch key 1 is refused it by Redis itself, amid a pipeline.
	client.Do(t.Context(), "ACL", "SETUSER", "default", "resetkeys", "~"+keyOf(0), "~"+keyOf(2))

	for _, scripts := range []string{"unknown", "known"} {
		got := keys.Claim(t.Context(), claims(0, 3))
		if got[1].Err == nil || !strings.HasPrefix(got[1].Err.Error(), "claiming push:dedup:resume_viewed:…:sms: NOPERM") {
			t.Errorf("%s scripts: %+v", scripts, got[1])
		}
		if got[1].Verdict != 0 {
			t.Errorf("%s scripts: a verdict beside an error: %+v", scripts, got[1])
		}
		for _, i := range []int{0, 2} {
			if got[i].Err != nil {
				t.Errorf("%s scripts: %+v", scripts, got[i])
			}
		}
	}
}

func TestErrorsShowNoDedupID(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer func() { _ = client.Close() }()
	keys := New(client, lease)
	for _, key := range []string{"push:dedup:job_matched@v2:+8613800138000,77:sms", "+8613800138000"} {
		g := keys.Claim(t.Context(), []push.Claim{{Key: key, Owner: "me"}})[0]
		var cause *net.OpError
		if g.Err == nil || strings.Contains(g.Err.Error(), "13800138000") || !errors.As(g.Err, &cause) {
			t.Errorf("%v", g.Err)
		}
	}
}

func TestRedisAtItsMemoryLimitFailsClaimsAndRecovers(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	keys := New(client, lease)
	ctx := t.Context()
	client.ConfigSet(ctx, "maxmemory", "1")

	for i, g := range keys.Claim(ctx, claims(0, 2)) {
		if g.Err == nil || g.Verdict != 0 {
			t.Errorf("claim %d at the limit: %+v", i, g)
		}
	}
	client.ConfigSet(ctx, "maxmemory", "0")
	allGranted(t, keys.Claim(ctx, claims(0, 2)))
}

func TestClusterTakesEveryScript(t *testing.T) {
	t.Parallel()
	client := startCluster(t)
	keys := New(client, lease)
	for range 2 {
		batch := claims(0, 50) // 50 keys, some 50 slots
		allGranted(t, keys.Claim(t.Context(), batch))
		var settles []push.KeySettle
		var holds []push.KeyHold
		for _, c := range batch {
			holds = append(holds, push.KeyHold{Key: c.Key, Owner: c.Owner})
			settles = append(settles, settle(c.Key, c.Owner, push.KeySuccess, 1))
		}
		all := append(keys.Renew(t.Context(), holds), keys.Settle(t.Context(), settles)...)
		for _, a := range all {
			if a.Err != nil || !a.Mine {
				t.Fatalf("%+v", a)
			}
		}
		if info := inspect(t, keys, keyOf(7)); info.State != push.KeySuccess {
			t.Errorf("%+v", info)
		}
		if policy, err := MaxmemoryPolicy(t.Context(), client); err != nil || policy != NoEviction {
			t.Errorf("%q, %v", policy, err)
		}
		client.ScriptFlush(t.Context())
		client.FlushAll(t.Context())
	}
}

// silent accepts connections and never answers: a Redis too slow for anybody.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { // the cleanup waits for it
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with conn; goleak waits for it
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func TestFieldReport21_SlowRedisHonoursTheDeadline(t *testing.T) {
	t.Parallel()
	options, err := Config{Addrs: []string{silent(t)}, Timeout: 10 * time.Second}.options()
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewUniversalClient(options)
	defer func() { _ = client.Close() }()
	keys := New(client, lease)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		start := time.Now()
		g := keys.Claim(ctx, claims(0, 1))[0]
		cancel()
		if took := time.Since(start); g.Err == nil || took > 1500*time.Millisecond {
			t.Errorf("%v after %v", g.Err, took)
		}
	}
}

func BenchmarkClaimPipelineOf300(b *testing.B) {
	keys := New(connect(b, Config{Addrs: []string{startRedis(b).addr}}), lease)
	n := 0
	for b.Loop() {
		allGranted(b, keys.Claim(b.Context(), claims(n, n+300)))
		n += 300
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "claims/s")
}

func BenchmarkDuplicatePipelineOf300(b *testing.B) {
	keys := New(connect(b, Config{Addrs: []string{startRedis(b).addr}}), lease)
	batch := claims(0, 300)
	allGranted(b, keys.Claim(b.Context(), batch))
	settleAll(b, keys, batch)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for _, g := range keys.Claim(b.Context(), batch) {
			if g.Verdict != push.Duplicate {
				b.Fatalf("%+v", g)
			}
		}
		n += len(batch)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "claims/s")
}

func BenchmarkClaimAndSettlePipelinesOf300(b *testing.B) {
	keys := New(connect(b, Config{Addrs: []string{startRedis(b).addr}}), lease)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		batch := claims(n, n+300)
		allGranted(b, keys.Claim(b.Context(), batch))
		settleAll(b, keys, batch)
		n += len(batch)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deliveries/s")
}

// settleAll settles what was claimed.
func settleAll(b *testing.B, keys *Keys, batch []push.Claim) {
	b.Helper()
	settles := make([]push.KeySettle, len(batch))
	for i, c := range batch {
		settles[i] = settle(c.Key, c.Owner, push.KeySuccess, 1)
	}
	for _, a := range keys.Settle(b.Context(), settles) {
		if a.Err != nil || !a.Mine {
			b.Fatalf("%+v", a)
		}
	}
}

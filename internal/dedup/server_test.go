package dedup

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachServer runs test against a Redis in this process and against a real one, each new and empty.
func eachServer(t *testing.T, test func(t *testing.T, client redis.UniversalClient)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, Config{Addrs: []string{miniredis.RunT(t).Addr()}}))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, Config{Addrs: []string{startRedis(t).addr}}))
	})
}

func connect(t testing.TB, cfg Config) redis.UniversalClient {
	t.Helper()
	cfg.Timeout = 10 * time.Second
	client, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// realRedis is a redis-server of the machine, for one test.
type realRedis struct {
	addr string
	args []string
	cmd  *exec.Cmd
}

func startRedis(t testing.TB, args ...string) *realRedis {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on this machine")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	r := &realRedis{addr: l.Addr().String()}
	r.args = append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--dir", t.TempDir()}, args...)
	r.start(t)
	t.Cleanup(r.stop)
	return r
}

func (r *realRedis) start(t testing.TB) {
	t.Helper()
	r.cmd = exec.Command("redis-server", r.args...)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		conn, err := net.Dial("tcp", r.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
}

func (r *realRedis) stop() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// eventually asks again until ok returns nil.
func eventually(t testing.TB, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// startCluster is a Redis Cluster of one node.
func startCluster(t *testing.T) redis.UniversalClient {
	t.Helper()
	r := startRedis(t, "--cluster-enabled", "yes")
	node := redis.NewClient(&redis.Options{Addr: r.addr})
	defer func() { _ = node.Close() }()
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return node.Set(t.Context(), "up", 1, 0).Err() })
	return connect(t, Config{Addrs: []string{r.addr}, Mode: Cluster})
}

// now is the server's own clock, in milliseconds.
func now(t testing.TB, client redis.UniversalClient) int64 {
	t.Helper()
	at, err := client.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}

// twice is a client hook that sends every pipeline twice and keeps the second answers: what the client's own retry
// does when the first answers got lost.
type twice struct{}

func (twice) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (twice) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		_ = next(ctx, cmds)
		return next(ctx, cmds)
	}
}

func keyOf(n int) string { return fmt.Sprintf("push:dedup:resume_viewed:%d:sms", n) }

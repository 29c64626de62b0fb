package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"
)

// orphanMaker makes this test program start a Redis, print its address and wait to be killed.
const orphanMaker = "TESTBED_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphanMaker) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	server, err := Redis(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.Addr) //nolint:forbidigo // for the test that started us
	select {}
}

// startedFor is a test's server: skipped where its programs are not installed, closed at the end, its data gone.
func startedFor(t *testing.T, start func(context.Context) (*Server, error)) *Server {
	t.Helper()
	s, err := start(t.Context())
	if errors.Is(err, ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
			t.Errorf("%s still has its data in %s after Close", s.Name, s.dir)
		}
	})
	return s
}

func startRedis(ctx context.Context) (*Server, error) { return Redis(ctx) }

func restart(t *testing.T, s *Server, end func() error) {
	t.Helper()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := s.ready(t.Context()); err == nil {
		t.Fatalf("%s still answers on %s after it was stopped", s.Name, s.Addr)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRedisKeepsItsDataAndPortOverARestart(t *testing.T) {
	t.Parallel()
	s := startedFor(t, startRedis)
	client := redis.NewClient(&redis.Options{Addr: s.Addr, DB: RedisDatabases - 1})
	defer client.Close()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	restart(t, s, s.Stop)
	if got, err := client.Get(t.Context(), "key").Result(); err != nil || got != "value" {
		t.Errorf("key after the restart = %q, %v; want value", got, err)
	}
	if !strings.Contains(s.Version, ".") {
		t.Errorf("version = %q, want a number", s.Version)
	}
}

func TestPostgresRunsForRootTooAndKeepsItsDataOverARestart(t *testing.T) {
	t.Parallel()
	s := startedFor(t, func(ctx context.Context) (*Server, error) {
		bin, err := PostgresBin()
		if err != nil {
			return nil, err
		}
		return Postgres(ctx, bin)
	})
	exec := func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("create table kept (id int)")
	restart(t, s, s.Stop)
	exec("insert into kept values (1)")
	restart(t, s, s.Kill) // recovery at the next start
	exec("insert into kept values (2)")
}

func TestKafkaKeepsItsTopicsOverARestart(t *testing.T) {
	t.Parallel()
	s := startedFor(t, func(ctx context.Context) (*Server, error) { return Kafka(ctx) })
	client := &kafka.Client{Addr: kafka.TCP(s.Addr), Transport: new(kafka.Transport)}
	defer client.Transport.(*kafka.Transport).CloseIdleConnections()
	made, err := client.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: "kept", NumPartitions: 3, ReplicationFactor: 1}},
	})
	if err = errors.Join(err, made.Errors["kept"]); err != nil {
		t.Fatal(err)
	}
	restart(t, s, s.Stop)
	meta, err := client.Metadata(t.Context(), &kafka.MetadataRequest{Topics: []string{"kept"}})
	if err != nil || len(meta.Topics) != 1 || len(meta.Topics[0].Partitions) != 3 {
		t.Errorf("metadata after the restart = %+v, %v; want topic kept with 3 partitions", meta, err)
	}
}

func TestKafkaTellsWhoComesThroughADoorWhereToComeAgain(t *testing.T) {
	t.Parallel()
	told := []string{"127.0.0.1:1", "127.0.0.1:2"}
	s := startedFor(t, func(ctx context.Context) (*Server, error) { return Kafka(ctx, told...) })
	for i, addr := range append([]string{s.Addr}, s.Doors...) {
		transport := new(kafka.Transport)
		defer transport.CloseIdleConnections()
		meta, err := (&kafka.Client{Addr: kafka.TCP(addr), Transport: transport}).Metadata(t.Context(), new(kafka.MetadataRequest))
		if err != nil {
			t.Fatal(err)
		}
		want := append([]string{s.Addr}, told...)[i]
		if got := net.JoinHostPort(meta.Brokers[0].Host, strconv.Itoa(meta.Brokers[0].Port)); got != want {
			t.Errorf("through %s one is told of %s, want %s", addr, got, want)
		}
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	s := startedFor(t, startRedis)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.dir + "/appendonlydir"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.dir+"/appendonlydir", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "appendonlydir") {
		t.Errorf("starting redis on a broken directory = %v; want its own words about appendonlydir", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := Redis(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, ErrNotInstalled) {
		t.Errorf("starting redis in an ended context = %v, %v; want context canceled", s, err)
	}
}

func TestAServerDiesWithTheProcessThatStartedIt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child whose parent was killed")
	}
	startedFor(t, startRedis) // skips where there is none
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), orphanMaker+"=1", "TMPDIR="+t.TempDir()) // nobody is left to remove its data
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimSpace(line)
	if err := PingRedis(t.Context(), addr); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for deadline := time.Now().Add(10 * time.Second); PingRedis(t.Context(), addr) == nil; {
		if time.Now().After(deadline) {
			t.Fatalf("redis on %s outlived its parent by 10 s", addr)
		}
	}
}

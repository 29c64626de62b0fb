package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// RedisDatabases is how many databases a Redis of ours has: enough for each test to have one.
const RedisDatabases = 4096

// redisVersion finds the version in what redis-server --version prints: "Redis server v=7.0.15 sha=...".
var redisVersion = regexp.MustCompile(`v=([0-9.]+)`)

// Redis starts redis-server, found on PATH. It keeps its data over a restart (append-only file, synced each second) and
// evicts nothing; settings ("--appendonly", "no") come before these. The error wraps ErrNotInstalled where there is no
// redis-server.
func Redis(ctx context.Context, settings ...string) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("looking for redis-server: %w", ErrNotInstalled)
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pusher-redis-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for redis: %w", err)
	}
	s := &Server{
		Name: "redis", Version: version(program, redisVersion), Addr: loopback(port), dir: dir, stop: syscall.SIGTERM,
		command: func() *exec.Cmd {
			return exec.Command(program, append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir,
				"--databases", strconv.Itoa(RedisDatabases), "--save", "", "--appendonly", "yes",
				"--maxmemory-policy", "noeviction"}, settings...)...)
		},
		ready: func(ctx context.Context) error { return PingRedis(ctx, loopback(port)) },
	}
	return started(ctx, s)
}

// PingRedis asks a Redis whether it answers, which it does not while it loads its data. It speaks on a bare connection:
// a client would retry, and log each refusal.
func PingRedis(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "*1\r\n$4\r\nPING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer != "+PONG\r\n" {
		err = fmt.Errorf("asking %s: %q", addr, answer)
	}
	return err
}

// started starts a new server, and closes it when it does not come up.
func started(ctx context.Context, s *Server) (*Server, error) {
	if err := s.Start(ctx); err != nil {
		_ = s.Close() // the first error tells more
		return nil, err
	}
	return s, nil
}

// version runs a program with --version and picks the version out of what it prints; "unknown" when it is not there.
func version(program string, pattern *regexp.Regexp) string {
	out, _ := exec.Command(program, "--version").Output()
	if m := pattern.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	return "unknown"
}

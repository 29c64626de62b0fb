package local

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Sentinel starts a redis-server that watches the master at addr under a name. Quorum sentinels agree that it is down,
// after one second of silence. The error wraps ErrNotInstalled where there is no redis-server.
func Sentinel(ctx context.Context, name, addr string, quorum int) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("looking for redis-server: %w", ErrNotInstalled)
	}
	host, masterPort, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("reading the master's address: %w", err)
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pusher-sentinel-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for a sentinel: %w", err)
	}
	file := filepath.Join(dir, "sentinel.conf") // a sentinel writes down in it what it learns
	text := fmt.Sprintf("sentinel monitor %[1]s %[2]s %[3]s %[4]d\nsentinel down-after-milliseconds %[1]s 1000\n"+
		"sentinel failover-timeout %[1]s 5000\n", name, host, masterPort, quorum)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("writing a sentinel's settings: %w", err)
	}
	s := &Server{
		Name: "sentinel", Version: version(program, redisVersion), Addr: loopback(port), dir: dir, stop: syscall.SIGTERM,
		command: func() *exec.Cmd {
			return exec.Command(program, file, "--sentinel", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir)
		},
		ready: func(ctx context.Context) error { return PingRedis(ctx, loopback(port)) },
	}
	return started(ctx, s)
}

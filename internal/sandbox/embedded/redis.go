package embedded

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/alicebob/miniredis/v2"

	"pusher/internal/sandbox/local"
)

// RedisVersion names what stands in for Redis.
const RedisVersion = "miniredis"

// RedisServer is a Redis in this process. Its keys expire by the wall clock, and it keeps them over Stop and Start.
type RedisServer struct {
	Addr string // host:port, the same over restarts

	mini *miniredis.Miniredis
}

// Redis starts a Redis.
func Redis(context.Context) (*RedisServer, error) {
	port, err := local.FreePort()
	if err != nil {
		return nil, err
	}
	mini := miniredis.NewMiniRedis()
	if err := mini.StartAddr(net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err != nil {
		return nil, fmt.Errorf("starting redis: %w", err)
	}
	mini.ClockTTL(true) // by itself it would keep every key for ever
	return &RedisServer{Addr: mini.Addr(), mini: mini}, nil
}

// Start starts a stopped Redis on its port and with its keys.
func (r *RedisServer) Start(context.Context) error {
	if r.mini.Server() != nil {
		return nil
	}
	if err := r.mini.Restart(); err != nil {
		return fmt.Errorf("starting redis on %s: %w", r.Addr, err)
	}
	return nil
}

// Stop stops the Redis; clients see their connections close.
func (r *RedisServer) Stop() error {
	r.mini.Close()
	return nil
}

// Close stops the Redis for good.
func (r *RedisServer) Close() error { return r.Stop() }

package dedup

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Mode says how Redis is run.
type Mode string

// The ways to run Redis.
const (
	Single   Mode = "single"   // one address
	Sentinel Mode = "sentinel" // the addresses are the sentinels', Config.Master names what they watch
	Cluster  Mode = "cluster"  // the addresses are some of the nodes'
)

// Config names a Redis and how to reach it.
type Config struct {
	Addrs    []string // host:port
	Mode     Mode
	Master   string // Sentinel
	Username string
	Password string
	DB       int         // not in a cluster
	TLS      *tls.Config // nil: plain

	SentinelUsername string // Sentinel: of the sentinels themselves
	SentinelPassword string

	Timeout time.Duration // of a dial, of one reply, and of the wait for a connection; 0: one second
}

// Connect returns a client for cfg once Redis has answered. The error names the addresses.
func Connect(ctx context.Context, cfg Config) (redis.UniversalClient, error) {
	client, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("connecting to redis %s: %w", strings.Join(cfg.Addrs, ","), err)
	}
	return client, nil
}

// Open returns a client for cfg without asking whether Redis answers; it connects when it is used.
func Open(cfg Config) (redis.UniversalClient, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	return redis.NewUniversalClient(options), nil
}

// options bounds everything by time: a caller's deadline holds for a command on the wire too (the client's default is
// that it does not), and retries and waits for a connection are few and short, so that a slow Redis makes calls fail
// in time and does not pile them up.
func (cfg Config) options() (*redis.UniversalOptions, error) {
	timeout := cfg.Timeout
	if timeout <= 0 {
		timeout = time.Second
	}
	o := &redis.UniversalOptions{
		Addrs: cfg.Addrs, Username: cfg.Username, Password: cfg.Password, DB: cfg.DB, TLSConfig: cfg.TLS,
		SentinelUsername: cfg.SentinelUsername, SentinelPassword: cfg.SentinelPassword,
		ContextTimeoutEnabled: true,
		DialTimeout:           timeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		DialerRetries: 1,
		MaxRetries:    2, MinRetryBackoff: 10 * time.Millisecond, MaxRetryBackoff: 100 * time.Millisecond,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	switch {
	case len(cfg.Addrs) == 0:
		return nil, errors.New("connecting to redis: no address")
	case cfg.Mode == Sentinel && cfg.Master != "":
		o.MasterName = cfg.Master
	case cfg.Mode == Sentinel:
		return nil, errors.New("connecting to redis: sentinel without a master's name")
	case cfg.Mode == Cluster && cfg.DB == 0:
		o.IsClusterMode = true
	case cfg.Mode == Cluster:
		return nil, errors.New("connecting to redis: a cluster has only db 0")
	case cfg.Mode != Single && cfg.Mode != "":
		return nil, fmt.Errorf("connecting to redis: mode %q", cfg.Mode)
	case len(cfg.Addrs) > 1:
		return nil, errors.New("connecting to redis: mode single takes one address")
	}
	return o, nil
}

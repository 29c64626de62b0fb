package assemble

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"pusher/internal/consume"
	"pusher/internal/httpd"
	"pusher/internal/store"
)

// errStarting is what a dependency's check says before it has answered for the first time.
var errStarting = errors.New("not connected yet")

// readiness is what /readyz asks. It answers from the first moment on, before the services do.
type readiness struct {
	mu       sync.Mutex
	consumer *consume.Consumer     // guarded by mu; nil until started
	redis    redis.UniversalClient // guarded by mu; nil until started
	store    *store.Store          // guarded by mu; nil until started
}

func (r *readiness) started(c *consume.Consumer, client redis.UniversalClient, s *store.Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consumer, r.redis, r.store = c, client, s
}

// checks are the dependencies by name; spareRedis says that Redis is not needed.
func (r *readiness) checks(spareRedis bool) []httpd.Check {
	return []httpd.Check{
		{Name: "kafka", Probe: r.check(func(context.Context) error { return r.consumer.Ready() })},
		{Name: "redis", Spare: spareRedis, Probe: r.check(func(ctx context.Context) error { return r.redis.Ping(ctx).Err() })},
		{Name: "postgres", Probe: r.check(func(ctx context.Context) error { return r.store.Ping(ctx) })},
	}
}

// check asks probe once everything is connected.
func (r *readiness) check(probe func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		r.mu.Lock()
		starting := r.consumer == nil
		r.mu.Unlock()
		if starting {
			return errStarting
		}
		return probe(ctx) // nothing changes after started
	}
}

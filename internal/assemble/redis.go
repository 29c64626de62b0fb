package assemble

import (
	"context"

	"github.com/redis/go-redis/v9"

	"pusher/internal/config"
	"pusher/internal/dedup"
)

// redis connects to the fast arbiter: where the push log may arbitrate alone (dedup.on_redis_down: postgres) one that is
// away is told of and used as soon as it answers, else it is waited for.
func (p *Pusher) redis(ctx context.Context) (redis.UniversalClient, error) {
	connect := func(ctx context.Context) (redis.UniversalClient, error) { return Redis(ctx, p.cfg) }
	if !spareRedis(p.cfg) {
		return patient(ctx, p.log, connect)
	}
	client, err := connect(ctx)
	if err == nil {
		return client, nil
	}
	p.log.Warn().Err(err).Msg("redis is away: the push log alone arbitrates until it answers")
	reach, err := redisOf(p.cfg)
	if err != nil {
		return nil, err
	}
	return dedup.Open(reach)
}

// spareRedis reports whether deliveries go on while Redis is away.
func spareRedis(c *config.Config) bool { return c.Dedup.OnRedisDown == config.ByTheRow }

// mayForget warns about a Redis that may evict keys before their time. Managed ones may refuse to say.
func (p *Pusher) mayForget(ctx context.Context, client redis.UniversalClient) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Redis.Timeout)
	defer cancel()
	switch policy, err := dedup.MaxmemoryPolicy(ctx, client); {
	case err != nil:
		p.log.Warn().Err(err).Msg("redis does not tell whether it may evict keys: see to it that maxmemory-policy is " + dedup.NoEviction)
	case policy != dedup.NoEviction:
		p.log.Warn().Msgf("redis may evict keys, and the push log then does all the work: maxmemory-policy is %s, set it to %s",
			policy, dedup.NoEviction)
	}
}

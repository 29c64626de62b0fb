package assemble

import (
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/config"
	"pusher/internal/dedup"
	"pusher/internal/deliver"
	"pusher/internal/store"
	"pusher/internal/telemetry"
)

// keyCalls is how many replies of Redis, each at its slowest, a batch of claims waits for: the first and one retry.
const keyCalls = 2

// deliverer builds the pipeline on its services.
func (p *Pusher) deliverer(client redis.UniversalClient, log *store.Store) (*deliver.Deliverer, error) {
	c := p.cfg
	channels, err := p.channels(client)
	if err != nil {
		return nil, err
	}
	keys := dedup.New(client, c.Dedup.Lease)
	return deliver.New(deliver.Config{
		Pushes: pushes(c), RetryTopic: c.Kafka.RetryTopic,
		InFlight: c.Worker.InFlight, Waiting: c.Worker.Waiting, WaitingBytes: int64(c.Worker.WaitingBytes),
		Lease: c.Dedup.Lease, Window: c.Dedup.Window, Call: callMost,
		KeyCall: keyCalls * c.Redis.Timeout, Spare: spareRedis(c),
		Backoff: c.Backoff(), InlineRetries: c.Retry.Inline, Channels: channels,
		PhoneRegion: c.Phone.Region, HashKey: []byte(c.Privacy.HashKey.Reveal()), Worker: workerName(),
		Meter: p.metrics, Tracer: p.tracer, Log: telemetry.Repeats(p.log), Now: time.Now,
	}, keys, log, log), nil
}

// pushes is what the pipeline knows of each configured push.
func pushes(c *config.Config) map[string]deliver.Push {
	out := make(map[string]deliver.Push, len(c.Pushes))
	for name, rule := range c.Rules() {
		out[name] = deliver.Push{Rule: rule, Actions: c.Pushes[name].Actions.List()}
	}
	return out
}

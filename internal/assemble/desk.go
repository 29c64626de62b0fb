package assemble

import (
	"context"
	"time"

	"pusher/internal/config"
	"pusher/internal/dedup"
	"pusher/internal/operate"
	"pusher/internal/store"
)

// Desk is where operators sit, on a push log that is open already. keys may be nil: then no key is read. So may
// publisher: then what is queued is published by the compensator.
func Desk(c *config.Config, log *store.Store, keys *dedup.Keys, publisher operate.Publisher) *operate.Desk {
	ports := operate.Ports{Reader: log, Mover: log, Book: log, Publisher: publisher}
	if keys != nil {
		ports.Keys = deskKeys{keys}
	}
	return operate.New(operate.Config{
		Policy: c.Policy(), RetryTopic: c.Kafka.RetryTopic, DeadLetterTopic: c.Kafka.DeadLetterTopic,
		HashKey: []byte(c.Privacy.HashKey.Reveal()), Region: c.Phone.Region, Now: time.Now,
	}, ports)
}

// Keys opens the dedup keys without asking whether Redis answers: an operator's question shall not fail for it.
func Keys(c *config.Config) (*dedup.Keys, func() error, error) { return keysOf(c) }

// deskKeys reads keys for operators.
type deskKeys struct{ *dedup.Keys }

// Look reads one key.
func (k deskKeys) Look(ctx context.Context, key string) (operate.Key, error) {
	info, err := k.Inspect(ctx, key)
	return operate.Key{
		State: info.State, Owner: info.Owner, Attempt: info.Attempt, LeaseLeft: info.LeaseLeft, TTL: info.TTL,
		Foreign: info.Foreign,
	}, err
}

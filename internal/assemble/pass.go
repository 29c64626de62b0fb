package assemble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"pusher/internal/compensate"
	"pusher/internal/config"
	"pusher/internal/consume"
	"pusher/internal/dedup"
	"pusher/internal/push"
)

// The bounds of a pass.
const (
	passBatch  = 1000             // rows a statement: more are no faster, and hold more events in memory
	passBudget = 10 * time.Minute // then the rest is for the next pass
	passCall   = 30 * time.Second // for writing one batch to Kafka
)

// Pass is a pass of cron's: the next comes in a minute, its smallest step.
func Pass(ctx context.Context, c *config.Config, dryRun bool, tracer compensate.Tracer) (compensate.Summary, error) {
	return PassEvery(ctx, c, zerolog.Nop(), time.Minute, dryRun, tracer)
}

// PassEvery opens what a pass needs, runs it and closes it again: in a loop, too, nothing is kept from one to the next
// that could have gone bad in between. every is how long it is until the next; told gets a line for each decision that a
// person may ask about. Where tracer is nil nobody looks. It touches no row unless Kafka can take what it would publish.
func PassEvery(
	ctx context.Context, c *config.Config, told zerolog.Logger, every time.Duration, dryRun bool, tracer compensate.Tracer,
) (sum compensate.Summary, err error) {
	sum.DryRun = dryRun
	log, err := migrated(ctx, c, "compensator")
	if err != nil {
		return sum, err
	}
	defer log.Close()
	client, err := openRedis(c)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	askers, closeAskers, err := askers(c, client)
	if err != nil {
		return sum, err
	}
	defer closeAskers()
	ports := compensate.Ports{
		Memory: log, Keys: dedup.New(client, c.Dedup.Lease),
		Queue: log, Sweeper: log, Unknowns: log, Hints: log, Ender: log, Letterbox: log, Forecast: log, Receipts: log, Hours: log, Pruner: log, Askers: askers,
	}
	cfg := compensate.Config{
		Policy: c.Policy(), RetryTopic: c.Kafka.RetryTopic, DeadLetterTopic: c.Kafka.DeadLetterTopic,
		Batch: passBatch, Budget: passBudget, KeepUnmatched: c.Receipts.KeepUnmatched, Call: passCall, Now: time.Now,
		Window: windows(c), Keep: c.Retention.Keep, KeepInbox: c.Retention.Inbox, Rates: c.Rates(), Every: every, Tracer: tracer, Log: told,
	}
	if dryRun {
		return compensate.New(cfg, ports).DryRun(ctx)
	}
	if err := topicsReady(ctx, c); err != nil {
		return sum, err
	}
	producer, err := Producer(c)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, producer.Close(ctx)) }()
	ports.Publisher = producer
	return compensate.New(cfg, ports).Run(ctx)
}

// openRedis does not ask whether Redis answers: a pass goes on without it.
func openRedis(c *config.Config) (redis.UniversalClient, error) {
	reach, err := redisOf(c)
	if err != nil {
		return nil, err
	}
	return dedup.Open(reach)
}

// keysOf opens the dedup keys alone.
func keysOf(c *config.Config) (*dedup.Keys, func() error, error) {
	client, err := openRedis(c)
	if err != nil {
		return nil, nil, err
	}
	return dedup.New(client, c.Dedup.Lease), client.Close, nil
}

// windows says how long a delivery's key lives: as its push has it, or as all have where that is no longer configured.
func windows(c *config.Config) func(push.Identity) time.Duration {
	return func(id push.Identity) time.Duration {
		if p, known := c.Pushes[id.BizType]; known {
			return p.Dedup.Window
		}
		return c.Dedup.Window
	}
}

// topicsReady reports whether the topics that a pass writes can be written.
func topicsReady(ctx context.Context, c *config.Config) error {
	cluster, err := Cluster(c)
	if err != nil {
		return err
	}
	topics, err := consume.Inspect(ctx, cluster, c.Kafka.RetryTopic, c.Kafka.DeadLetterTopic)
	if err != nil {
		return err
	}
	for _, t := range topics {
		if t.Err != nil {
			return fmt.Errorf("looking at topic %s on %s: %w", t.Name, strings.Join(c.Kafka.Brokers, ","), t.Err)
		}
	}
	return nil
}

// askers are the providers that can be asked what became of a send (rule Q5): those whose account is configured.
func askers(c *config.Config, client redis.UniversalClient) (byProvider map[string]compensate.Asker, closeAll func(), err error) {
	byProvider = map[string]compensate.Asker{}
	var closes []func()
	closeAll = func() {
		for _, end := range closes {
			end()
		}
	}
	if c.Channels.SMS.Aliyun.AccessKeyID != "" {
		s, err := Aliyun(c)
		if err != nil {
			return nil, nil, err
		}
		byProvider[s.Provider()], closes = s, append(closes, s.Close)
	}
	if c.Channels.SMS.Tencent.SecretID != "" {
		questions := tencentQuestions(client, c.Channels.SMS.Tencent.SecretID)
		closes = append(closes, questions.Close)
		s, err := Tencent(c, questions)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		byProvider[s.Provider()], closes = s, append(closes, s.Close)
	}
	return byProvider, closeAll, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/consume"
	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/store"
)

// letterOverhead is what a dead letter's batch has beside the event's value: headers of its own and of ours.
const letterOverhead = 64 << 10

// checkKafka looks at the brokers and the three topics.
func checkKafka(ctx context.Context, c *config.Config, r *report) {
	what := "kafka " + strings.Join(c.Kafka.Brokers, ",")
	cluster, err := assemble.Cluster(c)
	if err != nil {
		r.add(finding{what: what, err: err})
		return
	}
	topics, err := consume.Inspect(ctx, cluster, c.Kafka.Topic, c.Kafka.RetryTopic, c.Kafka.DeadLetterTopic)
	if err != nil {
		r.add(finding{what: what, err: err, mend: "is a broker running there? see kafka.brokers, kafka.tls, kafka.sasl"})
		return
	}
	r.add(finding{what: what, says: "answers"})
	for _, t := range topics {
		r.add(topicFinding(t, c.Kafka.Brokers[0], t.Name == c.Kafka.DeadLetterTopic))
	}
}

// topicFinding judges one topic. Only the dead-letter topic must take more than an event: its headers come on top.
func topicFinding(t consume.TopicInfo, broker string, letters bool) finding {
	f := finding{what: "kafka topic " + t.Name, says: cli.Count(t.Partitions, "partition", "partitions"), err: t.Err}
	need := push.MaxValue + letterOverhead
	switch {
	case errors.Is(t.Err, consume.ErrNoTopic):
		f.mend = fmt.Sprintf("create it: kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions 8", broker, t.Name)
	case t.Err == nil && letters && t.MaxMessageBytes > 0 && t.MaxMessageBytes < need:
		f.warn, f.says = true, fmt.Sprintf("max.message.bytes is %d, so a large dead letter has its value cut", t.MaxMessageBytes)
		f.mend = fmt.Sprintf("set it to %d or more on this topic", need)
	}
	return f
}

// checkRedis looks at Redis and at whether it may forget.
func checkRedis(ctx context.Context, c *config.Config, r *report) {
	what := "redis " + strings.Join(c.Redis.Addrs, ",")
	client, err := assemble.Redis(ctx, c)
	if err != nil {
		r.add(finding{what: what, err: err, mend: "is it running there? see redis.addrs, redis.password, redis.tls"})
		return
	}
	defer func() { _ = client.Close() }()
	r.add(finding{what: what, says: "answers"})
	policy, err := dedup.MaxmemoryPolicy(ctx, client)
	f := finding{what: "redis maxmemory-policy", says: policy}
	switch {
	case err != nil:
		f.warn, f.says, f.mend = true, err.Error(), "see to it that it is "+dedup.NoEviction
	case policy != dedup.NoEviction:
		f.warn, f.mend = true, "keys may be evicted, and the push log then does all the work: set it to "+dedup.NoEviction
	}
	r.add(f)
}

// checkPostgres looks at the push log's server, its settings and its schema.
func checkPostgres(ctx context.Context, c *config.Config, r *report) {
	if c.NeedPostgres() != nil {
		return // said already: it is the configuration
	}
	log, err := assemble.Store(ctx, c, "pusher check")
	if err != nil {
		r.add(finding{what: "postgres", err: err, mend: "is it running there? see postgres.url"})
		return
	}
	defer log.Close()
	r.add(finding{what: "postgres", says: "answers"})
	r.add(finding{what: "postgres settings", says: "commits are durable", err: log.Check(ctx)})
	r.add(schemaFinding(store.MigrationStatus(ctx, c.Postgres.URL.Reveal())))
}

// schemaFinding judges the list of migrations.
func schemaFinding(list []store.Migration, err error) finding {
	f := finding{what: "postgres schema", err: err}
	var pending int
	for _, m := range list {
		if m.Applied {
			f.says = "version " + m.Name
		} else {
			pending++
		}
	}
	if err == nil && pending > 0 {
		f.err = fmt.Errorf("migrations missing: %d of %d", pending, len(list))
		f.mend = "run pusher migrate up"
	}
	return f
}

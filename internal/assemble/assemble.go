// Package assemble turns the configuration into the parts that both programs are made of. It is where settings meet
// adapters, so that neither knows the other; it decides nothing itself, and its errors name the service's address.
package assemble

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"pusher/internal/config"
	"pusher/internal/consume"
	"pusher/internal/dedup"
	"pusher/internal/store"
)

// Store opens the push log; name is what PostgreSQL shows as the client. Close it in the end.
func Store(ctx context.Context, c *config.Config, name string) (*store.Store, error) {
	if err := c.NeedPostgres(); err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Config{
		URL: c.Postgres.DSN(), MaxConns: int32(c.Postgres.MaxConns),
		StatementTimeout: c.Postgres.Timeout, Name: name,
	})
}

// Redis connects to the fast arbiter. Close it in the end.
func Redis(ctx context.Context, c *config.Config) (redis.UniversalClient, error) {
	reach, err := redisOf(c)
	if err != nil {
		return nil, err
	}
	return dedup.Connect(ctx, reach)
}

// redisOf says how to reach Redis.
func redisOf(c *config.Config) (dedup.Config, error) {
	secure, err := c.Redis.TLS.Client()
	if err != nil {
		return dedup.Config{}, fmt.Errorf("reading redis.tls: %w", err)
	}
	r := c.Redis
	return dedup.Config{
		Addrs: r.Addrs, Mode: dedup.Mode(r.Mode), Master: r.Master, Username: r.Username,
		Password: r.Password.Reveal(), DB: r.DB, TLS: secure, Timeout: r.Timeout,
		SentinelUsername: r.SentinelUsername, SentinelPassword: r.SentinelPassword.Reveal(),
	}, nil
}

// Cluster says how to reach Kafka.
func Cluster(c *config.Config) (consume.Cluster, error) {
	secure, err := c.Kafka.TLS.Client()
	if err != nil {
		return consume.Cluster{}, fmt.Errorf("reading kafka.tls: %w", err)
	}
	return consume.Cluster{
		Brokers: c.Kafka.Brokers, TLS: secure,
		SASL: consume.SASL{
			Mechanism: c.Kafka.SASL.Mechanism, Username: c.Kafka.SASL.Username, Password: c.Kafka.SASL.Password.Reveal(),
		},
	}, nil
}

// Producer opens a writer to Kafka. Close it in the end.
func Producer(c *config.Config) (*consume.Producer, error) {
	cluster, err := Cluster(c)
	if err != nil {
		return nil, err
	}
	return consume.NewProducer(cluster)
}

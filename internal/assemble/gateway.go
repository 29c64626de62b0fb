package assemble

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"pusher/internal/config"
	"pusher/internal/consume"
	"pusher/internal/dedup"
	"pusher/internal/gateway"
	"pusher/internal/httpd"
	"pusher/internal/telemetry"
)

// Gateway is the producers' front door with its services.
type Gateway struct {
	cfg     *config.Config
	log     zerolog.Logger
	http    *httpd.Server
	closers closers
}

// NewGateway takes gateway.addr and makes the door; it connects to Redis and Kafka when it uses them. An error is a
// configuration that cannot work, or an address in use.
func NewGateway(ctx context.Context, c *config.Config, log zerolog.Logger, version string) (*Gateway, error) {
	if err := errors.Join(c.NeedPushes(), c.NeedGateway()); err != nil {
		return nil, err
	}
	secure, err := c.Gateway.TLS.Server()
	if err != nil {
		return nil, fmt.Errorf("reading gateway.tls: %w", err)
	}
	g := &Gateway{cfg: c, log: log}
	client, producer, err := g.open()
	if err != nil {
		return nil, err
	}
	metrics := telemetry.New(version)
	door, err := gateway.New(g.settings(telemetry.NewGateway(metrics, producers(c))), client, producer)
	if err != nil {
		return nil, errors.Join(err, g.close(ctx))
	}
	passes := c.Gateway.OnRedisDown == config.Pass
	g.http = httpd.New(metrics.Handler(), []httpd.Check{
		{Name: "kafka", Probe: func(ctx context.Context) error { return producer.Reach(ctx, c.Kafka.Topic) }},
		{Name: "redis", Spare: passes, Probe: func(ctx context.Context) error { return client.Ping(ctx).Err() }},
	})
	g.http.TLS, g.http.Grace = secure, c.Gateway.Grace
	door.Hang(g.http.Mux)
	if err := g.http.Listen(ctx, c.Gateway.Addr); err != nil {
		return nil, errors.Join(err, g.close(ctx))
	}
	return g, nil
}

// open makes the clients of both services; neither connects yet.
func (g *Gateway) open() (redis.UniversalClient, *consume.Producer, error) {
	reach, err := redisOf(g.cfg)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := Cluster(g.cfg)
	if err != nil {
		return nil, nil, err
	}
	producer, err := consume.NewFrontProducer(cluster)
	if err != nil {
		return nil, nil, err
	}
	g.closers.add("kafka", producer.Close)
	client, err := dedup.Open(reach)
	if err != nil {
		return nil, nil, err
	}
	g.closers.add("redis", func(context.Context) error { return client.Close() })
	return client, producer, nil
}

// settings is what the door is told.
func (g *Gateway) settings(meter gateway.Meter) gateway.Config {
	c := g.cfg.Gateway
	cfg := gateway.Config{
		Topic: g.cfg.Kafka.Topic, Rules: g.cfg.Rules(), TokenKey: []byte(c.TokenKey.Reveal()), TokenLife: c.TokenLife,
		KeyWindow: c.KeyWindow, PrintBy: c.FingerprintBy(), PrintWindow: c.FingerprintWindow, Lease: c.Lease,
		PassDown: c.OnRedisDown == config.Pass, Rate: c.Rate, MaxBody: int64(c.MaxBody), MaxBatch: c.MaxBatch, InHand: int64(c.InHand),
		Timeout: c.Timeout, Log: g.log, Meter: meter, Now: time.Now,
	}
	for _, p := range c.Credentials() {
		credential := gateway.Producer{Name: p.Name}
		_, _ = hex.Decode(credential.Hash[:], []byte(p.Hash)) // 64 hex digits, as Load has checked
		cfg.Producers = append(cfg.Producers, credential)
	}
	return cfg
}

// producers are the names of all who are let in.
func producers(c *config.Config) []string {
	var names []string
	for _, p := range c.Gateway.Credentials() {
		names = append(names, p.Name)
	}
	return names
}

// Addr is where the door is.
func (g *Gateway) Addr() string { return g.http.Addr() }

// Run answers until ctx ends, gives requests under way gateway.grace, and closes.
func (g *Gateway) Run(ctx context.Context) error {
	g.log.Info().Str(telemetry.FieldAddr, g.Addr()).Msg("the front door is open")
	err := g.http.Serve(ctx)
	err = errors.Join(err, g.close(ctx))
	g.log.Info().Msg("stopped")
	return err
}

func (g *Gateway) close(ctx context.Context) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeMost)
	defer cancel()
	return g.closers.close(closing)
}

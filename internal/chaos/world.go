package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"pusher/internal/consume"
	"pusher/internal/sandbox/local"
	"pusher/internal/sandbox/provider"
	"pusher/internal/store"
)

// The services, as faults and lines name them.
const (
	onKafka     = "kafka"
	onRedis     = "redis"
	onPostgres  = "postgres"
	onProviders = "providers"
)

// keepAll is more sends than any run has: a journal that forgets cannot judge.
const keepAll = 100_000_000

// world is everything around the processes: real servers, the providers, a line from each process to each of them,
// and the referee's own ways in, which no fault befalls.
type world struct {
	dir     string // logs and configuration
	config  string // the file that all processes read
	servers map[string]*local.Server
	sandbox *provider.Sandbox
	lines   *lines
	addrs   map[string]string // of each line, by name
	direct  map[string]string // of each service, by name: the referee's way

	log      *pgxpool.Pool
	keys     *redis.Client
	producer *consume.Producer
	kafka    *kafkaView
	closers  []func() error
}

// newWorld starts the services and opens the lines. Whatever was started is closed when it fails.
func newWorld(ctx context.Context, dir string, seed uint64, c cast) (w *world, err error) {
	w = &world{dir: dir, servers: map[string]*local.Server{}, lines: newLines(), addrs: map[string]string{}, direct: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if err := w.startServers(ctx, c); err != nil {
		return w, err
	}
	if w.sandbox, err = provider.New(provider.Config{Seed: seed, Keep: keepAll, Faults: append(barred(), usualFaults()...)}); err != nil {
		return w, err
	}
	if err := w.sandbox.Start("127.0.0.1:0"); err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.sandbox.Close)
	if err := w.openLines(c); err != nil {
		return w, err
	}
	return w, w.prepare(ctx)
}

// startServers starts the servers as a careful operator would run them: PostgreSQL syncs every commit. Redis keeps
// nothing over a restart but what a fault makes it keep. Kafka tells each process to come by its own line.
func (w *world) startServers(ctx context.Context, c cast) error {
	bin, err := local.PostgresBin()
	if err != nil {
		return err
	}
	told := make([]string, 0, len(c.processes()))
	for _, process := range c.processes() {
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		w.addrs[lineName(process, onKafka)] = addr
		told = append(told, addr)
	}
	for name, start := range map[string]func() (*local.Server, error){
		onKafka: func() (*local.Server, error) { return local.Kafka(ctx, told...) },
		onRedis: func() (*local.Server, error) { return local.Redis(ctx, "--appendonly", "no") },
		onPostgres: func() (*local.Server, error) {
			return local.Postgres(ctx, bin, "fsync=on", "full_page_writes=on", "synchronous_commit=on", "autovacuum=on")
		},
	} {
		server, err := start()
		if err != nil {
			return err
		}
		w.servers[name], w.direct[name] = server, server.Addr
		w.closers = append(w.closers, server.Close)
	}
	return nil
}

// openLines opens a line from every process to every service.
func (w *world) openLines(c cast) error {
	w.closers = append(w.closers, func() error { w.lines.close(); return nil })
	sandbox, err := url.Parse(w.sandbox.URL())
	if err != nil {
		return err
	}
	w.direct[onProviders] = sandbox.Host
	for i, process := range c.processes() {
		for service, upstream := range map[string]string{
			onKafka: w.servers[onKafka].Doors[i], onRedis: w.servers[onRedis].Addr,
			onPostgres: w.servers[onPostgres].Addr, onProviders: sandbox.Host,
		} {
			name := lineName(process, service)
			if w.addrs[name] == "" {
				if w.addrs[name], err = freeAddr(); err != nil {
					return err
				}
			}
			if err := w.lines.add(name, w.addrs[name], upstream); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare makes topics and schema, writes the configuration, and opens the referee's ways in.
func (w *world) prepare(ctx context.Context) error {
	postgres := w.servers[onPostgres].URL
	if _, err := store.Migrate(ctx, postgres); err != nil {
		return err
	}
	w.config = filepath.Join(w.dir, "pusher.yaml")
	if err := os.WriteFile(w.config, []byte(configuration), 0o600); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	var err error
	if w.log, err = pgxpool.New(ctx, postgres); err != nil {
		return fmt.Errorf("opening the push log: %w", err)
	}
	w.closers = append(w.closers, func() error { w.log.Close(); return nil })
	w.keys = redis.NewClient(&redis.Options{Addr: w.servers[onRedis].Addr})
	w.closers = append(w.closers, w.keys.Close)
	brokers := []string{w.servers[onKafka].Addr}
	if w.producer, err = consume.NewProducer(consume.Cluster{Brokers: brokers}); err != nil {
		return err
	}
	w.closers = append(w.closers, func() error { return w.producer.Close(context.WithoutCancel(ctx)) })
	w.kafka = newKafkaView(brokers)
	w.closers = append(w.closers, w.kafka.close)
	return w.kafka.makeTopics(ctx)
}

// by is the way of a process to the services: its own lines.
func (w *world) by(process string) func(service string) string {
	return func(service string) string { return w.addrs[lineName(process, service)] }
}

// environment points a program at the addresses that to gives for the services.
func (w *world) environment(to func(service string) string) []string {
	log, _ := url.Parse(w.servers[onPostgres].URL) // written by package local
	log.Host = to(onPostgres)
	sandbox := "http://" + to(onProviders)
	return append(os.Environ(),
		"PUSHER_CONFIG="+w.config,
		"PUSHER_KAFKA_BROKERS="+to(onKafka),
		"PUSHER_REDIS_ADDRS="+to(onRedis),
		"PUSHER_POSTGRES_URL="+log.String(),
		"PUSHER_CHANNELS_SMS_ALIYUN_ENDPOINT="+sandbox,
		"PUSHER_CHANNELS_SMS_TENCENT_ENDPOINT="+sandbox,
		"PUSHER_CHANNELS_WECHAT_ENDPOINT="+sandbox,
	)
}

// close ends everything in reverse.
func (w *world) close() error {
	var failed []error
	for _, shut := range slices.Backward(w.closers) {
		failed = append(failed, shut())
	}
	w.closers = nil
	return errors.Join(failed...)
}

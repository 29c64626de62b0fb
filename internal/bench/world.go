package bench

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
	"github.com/segmentio/kafka-go"

	"pusher/internal/sandbox/local"
	"pusher/internal/store"
)

// Topics that every measurement shares; nothing is written to them but by the compensator.
const (
	retryTopic  = "bench-retry"
	letterTopic = "bench-letters"
)

// world is the real services, and the ways in of who measures.
type world struct {
	dir      string // configuration and output of the child processes
	kafka    *local.Server
	redis    *local.Server
	postgres *local.Server
	client   *kafka.Client
	admin    *pgxpool.Pool
	rooms    int
	profile  string // directory for the child processes' profiles; empty: none
	closers  []func() error
}

// newWorld starts the services as an operator would run them on a machine of a few processors: PostgreSQL with memory
// to cache in and room for its log between two checkpoints, every commit synced; Redis with an append-only file.
func newWorld(ctx context.Context) (w *world, err error) {
	w = &world{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.dir, err = os.MkdirTemp("", "pusher-bench-"); err != nil {
		return w, fmt.Errorf("making a directory: %w", err)
	}
	w.closers = append(w.closers, func() error { return os.RemoveAll(w.dir) })
	if err := os.WriteFile(filepath.Join(w.dir, "pusher.yaml"), []byte(configuration), 0o600); err != nil {
		return w, fmt.Errorf("writing the configuration: %w", err)
	}
	bin, err := local.PostgresBin()
	if err != nil {
		return w, err
	}
	for server, start := range map[**local.Server]func() (*local.Server, error){
		&w.kafka: func() (*local.Server, error) { return local.Kafka(ctx) },
		&w.redis: func() (*local.Server, error) { return local.Redis(ctx) },
		&w.postgres: func() (*local.Server, error) {
			return local.Postgres(ctx, bin, "fsync=on", "full_page_writes=on", "synchronous_commit=on", "autovacuum=on",
				"shared_buffers=1GB", "max_wal_size=8GB", "checkpoint_timeout=15min", "maintenance_work_mem=512MB",
				"shared_preload_libraries=pg_stat_statements")
		},
	} {
		if *server, err = start(); err != nil {
			return w, err
		}
		w.closers = append(w.closers, (*server).Close)
	}
	if w.admin, err = pgxpool.New(ctx, w.postgres.URL); err != nil {
		return w, fmt.Errorf("opening postgres: %w", err)
	}
	w.closers = append(w.closers, func() error { w.admin.Close(); return nil })
	transport := new(kafka.Transport)
	w.client = &kafka.Client{Addr: kafka.TCP(w.kafka.Addr), Transport: transport}
	w.closers = append(w.closers, func() error { transport.CloseIdleConnections(); return nil })
	return w, errors.Join(w.makeTopic(ctx, retryTopic), w.makeTopic(ctx, letterTopic))
}

func (w *world) makeTopic(ctx context.Context, name string) error {
	made, err := w.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}},
	})
	if err == nil {
		err = made.Errors[name]
	}
	if err != nil {
		return fmt.Errorf("making the topic %s: %w", name, err)
	}
	return nil
}

// room makes an empty database with the schema, an empty Redis database and a new group, all for the events of a topic.
func (w *world) room(ctx context.Context, topic string) (room, error) {
	w.rooms++
	name := fmt.Sprintf("bench_%d", w.rooms)
	if _, err := w.admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return room{}, fmt.Errorf("making a database: %w", err)
	}
	u, err := url.Parse(w.postgres.URL)
	if err != nil {
		return room{}, err
	}
	u.Path = "/" + name
	if _, err := store.Migrate(ctx, u.String()); err != nil {
		return room{}, err
	}
	return room{topic: topic, database: u.String(), redisDB: w.rooms, group: name}, w.settle(ctx)
}

// settle writes out what earlier measurements have left in memory, so that the next does not pay for it.
func (w *world) settle(ctx context.Context) error {
	if _, err := w.admin.Exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("settling postgres: %w", err)
	}
	return nil
}

// leave gives back what a room holds, and its keys.
func (w *world) leave(ctx context.Context, r room) error {
	client := w.keys(r)
	defer client.Close()
	_, err := w.admin.Exec(ctx, "DROP DATABASE "+r.group+" WITH (FORCE)")
	return errors.Join(err, client.FlushDB(ctx).Err())
}

// keys is the room's Redis database. The caller closes it.
func (w *world) keys(r room) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: w.redis.Addr, DB: r.redisDB})
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

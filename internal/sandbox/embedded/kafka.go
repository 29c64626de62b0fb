package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"

	"pusher/internal/sandbox/local"
)

// KafkaVersion names what stands in for Kafka.
const KafkaVersion = "kfake"

// Topic is a topic that a Kafka begins with.
type Topic struct {
	Name       string
	Partitions int
}

// Broker is a Kafka of one broker in this process. Topics are made on demand by the admin API only, never by a read.
type Broker struct {
	Addr string // host:port, the same over restarts

	dir  string // what it keeps over restarts; removed by Close
	seed []Topic

	mu      sync.Mutex // guards cluster
	cluster *kfake.Cluster
}

// Kafka starts a broker that has the given topics.
func Kafka(ctx context.Context, topics ...Topic) (*Broker, error) {
	port, err := local.FreePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pusher-kfake-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for kafka: %w", err)
	}
	b := &Broker{Addr: "127.0.0.1:" + strconv.Itoa(port), dir: dir, seed: topics}
	if err := b.Start(ctx); err != nil {
		_ = b.Close() // the first error tells more
		return nil, err
	}
	return b, nil
}

// Start starts a stopped broker, on its port and with its data. Starting a running one does nothing.
func (b *Broker) Start(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cluster != nil {
		return nil
	}
	_, text, _ := net.SplitHostPort(b.Addr)
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("reading the port of %s: %w", b.Addr, err)
	}
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(port), kfake.DataDir(b.dir)}
	for _, topic := range b.seed {
		opts = append(opts, kfake.SeedTopics(int32(topic.Partitions), topic.Name))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return fmt.Errorf("starting kafka on %s: %w", b.Addr, err)
	}
	b.cluster = cluster
	return nil
}

// Stop stops the broker; clients see their connections close.
func (b *Broker) Stop() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cluster != nil {
		b.cluster.Close()
		b.cluster = nil
	}
	return nil
}

// Close stops the broker and removes its data.
func (b *Broker) Close() error {
	return errors.Join(b.Stop(), os.RemoveAll(b.dir))
}

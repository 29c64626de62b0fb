package testbed

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

const (
	awaitPatience = 30 * time.Second      // how long a topic may take to become usable
	awaitEvery    = 20 * time.Millisecond // how often that is looked at
)

// notInNames is what a topic's name must not have.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// Kafka gives the addresses of the Kafka that the tests of this process share. It makes no topic by itself.
func Kafka(t testing.TB) []string {
	t.Helper()
	return []string{shared.server(t, "kafka").Addr}
}

// Unique makes a name that no other test has, for topics and consumer groups: the test's own and something random.
func Unique(t testing.TB) string {
	t.Helper()
	const most = 100
	name := notInNames.ReplaceAllString(t.Name(), "-")
	return name[:min(len(name), most)] + "-" + uuid.NewString()[:8]
}

// Topic makes a topic of its own for the test in the shared Kafka and waits until it can be used.
func Topic(t testing.TB, partitions int) string {
	t.Helper()
	name := Unique(t)
	MakeTopic(t, Kafka(t)[0], name, partitions)
	return name
}

// MakeTopic makes a topic by name in the Kafka at addr, waits until each of its partitions has a leader, and deletes it
// after the test as far as that Kafka still runs.
func MakeTopic(t testing.TB, addr, name string, partitions int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), awaitPatience)
	defer cancel()
	if err := createTopic(ctx, addr, name, partitions); err != nil {
		t.Fatalf("making topic %s: %v", name, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // the test's own is over
		defer cancel()
		client, done := kafkaClient(addr)
		defer done()
		_, _ = client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
	})
}

func createTopic(ctx context.Context, addr, name string, partitions int) error {
	client, done := kafkaClient(addr)
	defer done()
	tick := time.NewTicker(awaitEvery)
	defer tick.Stop()
	made := false
	for {
		var err error
		if !made {
			if err = request(ctx, client, name, partitions); err != nil && !errors.Is(err, kafka.BrokerNotAvailable) {
				return err // not available: a broker that has just started knows of no controller yet
			}
			made = err == nil
		}
		if made {
			err = usable(ctx, client, name, partitions)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// request asks for a topic once.
func request(ctx context.Context, client *kafka.Client, name string, partitions int) error {
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}},
	})
	if err != nil {
		return err
	}
	return made.Errors[name]
}

// usable tells whether every partition has a leader and answers for its offsets: what a reader needs to begin.
func usable(ctx context.Context, client *kafka.Client, name string, partitions int) error {
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{name}})
	if err != nil {
		return err
	}
	if len(meta.Topics) != 1 || meta.Topics[0].Error != nil || len(meta.Topics[0].Partitions) != partitions {
		return fmt.Errorf("metadata without its %d partitions", partitions)
	}
	requests := make([]kafka.OffsetRequest, partitions)
	for i := range requests {
		requests[i] = kafka.LastOffsetOf(i)
	}
	offsets, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{name: requests}})
	if err != nil {
		return err
	}
	for _, partition := range offsets.Topics[name] {
		if partition.Error != nil {
			return fmt.Errorf("partition %d: %w", partition.Partition, partition.Error)
		}
	}
	return nil
}

// kafkaClient is a client with connections of its own, and what closes them: the shared transport would leave goroutines.
func kafkaClient(addr string) (*kafka.Client, func()) {
	transport := &kafka.Transport{MetadataTTL: awaitEvery}
	return &kafka.Client{Addr: kafka.TCP(addr), Transport: transport}, transport.CloseIdleConnections
}

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// closing closes a server at the end of the test, and fails it when that takes long.
func closing(t *testing.T, server interface{ Close() error }) {
	t.Helper()
	t.Cleanup(func() {
		before := time.Now()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took > 15*time.Second {
			t.Errorf("closing took %v", took)
		}
	})
}

func TestKafkaServesAConsumerGroupAndKeepsItsCommitsOverARestart(t *testing.T) {
	t.Parallel()
	broker, err := Kafka(t.Context(), Topic{"events", 3}, Topic{"retries", 1})
	if err != nil {
		t.Fatal(err)
	}
	closing(t, broker)
	produce(t, broker.Addr, "events", 30)
	if got := consume(t, broker.Addr, "events", 3, 30); got != 30 {
		t.Errorf("the group read %d messages, want 30", got)
	}
	if err := broker.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := broker.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	produce(t, broker.Addr, "events", 5)
	if got := consume(t, broker.Addr, "events", 3, 5); got != 5 {
		t.Errorf("after the restart the group read %d messages, want the 5 new ones", got)
	}
}

func produce(t *testing.T, addr, topic string, count int) {
	t.Helper()
	transport := new(kafka.Transport)
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{Addr: kafka.TCP(addr), Topic: topic, RequiredAcks: kafka.RequireAll,
		BatchTimeout: time.Millisecond, Transport: transport, Balancer: &kafka.RoundRobin{}}
	defer writer.Close()
	messages := make([]kafka.Message, count)
	for i := range messages {
		messages[i].Value = fmt.Appendf(nil, "message %d", i)
	}
	if err := writer.WriteMessages(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
}

// consume joins a group, reads want messages from where the group left off, commits them and leaves.
func consume(t *testing.T, addr, topic string, partitions, want int) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: "group", Brokers: []string{addr}, Topics: []string{topic}, StartOffset: kafka.FirstOffset,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	generation, err := group.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(generation.Assignments[topic]); got != partitions {
		t.Fatalf("the group's only member has %d partitions, want %d", got, partitions)
	}
	results := make(chan int64, want)
	for _, assigned := range generation.Assignments[topic] {
		generation.Start(func(generationCtx context.Context) {
			readPartition(ctx, generation, addr, topic, assigned, results)
			<-generationCtx.Done()
		})
	}
	count := 0
	for ; count < want; count++ {
		select {
		case <-results:
		case <-ctx.Done():
			return count
		}
	}
	cancel()
	return count
}

// readPartition commits each message and then reports its offset, until ctx ends.
func readPartition(ctx context.Context, g *kafka.Generation, addr, topic string, from kafka.PartitionAssignment, results chan<- int64) {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: from.ID, MaxWait: 50 * time.Millisecond})
	defer reader.Close()
	if err := reader.SetOffset(from.Offset); err != nil {
		return
	}
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return
		}
		if err := g.CommitOffsets(map[string]map[int]int64{topic: {from.ID: message.Offset + 1}}); err != nil {
			return
		}
		results <- message.Offset
	}
}

func TestRedisExpiresByTheClockAndKeepsItsKeysOverARestart(t *testing.T) {
	t.Parallel()
	server, err := Redis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	closing(t, server)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	if err := errors.Join(client.Set(t.Context(), "kept", "1", 0).Err(), client.Set(t.Context(), "short", "1", 30*time.Millisecond).Err()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); client.Exists(t.Context(), "short").Val() == 1; {
		if time.Now().After(deadline) {
			t.Fatal("a key with a TTL of 30 ms is still there after 5 s")
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", server.Addr); err == nil {
		t.Error("a stopped redis takes connections")
	}
	if err := errors.Join(server.Start(t.Context()), server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Get(t.Context(), "kept").Result(); got != "1" {
		t.Errorf("key after the restart = %q, %v; want 1", got, err)
	}
}

func TestPostgresRunsForAnyUserRootIncluded(t *testing.T) {
	t.Parallel()
	server, err := Postgres(t.Context())
	if err != nil && strings.Contains(err.Error(), "unable to connect") {
		t.Skipf("PostgreSQL's programs are not cached here, and Maven Central is out of reach: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	closing(t, server)
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var now time.Time
	if err := conn.QueryRow(t.Context(), "select now()").Scan(&now); err != nil {
		t.Fatal(err)
	}
}

func TestPostgresFailsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if server, err := Postgres(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("starting postgres in an ended context = %v, %v; want context canceled", server, err)
	}
}

func TestProgramsThatAreThereAreNotFetchedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // stands for the programs: it exists
	before := time.Now()
	if err := unpack(dir); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(before); took > time.Second {
		t.Errorf("finding the programs took %v", took)
	}
}

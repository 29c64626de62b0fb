package consume

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

// scripted is a fetcher whose answers the test writes.
type scripted func(ctx context.Context) (kafka.Message, error)

func (s scripted) FetchMessage(ctx context.Context) (kafka.Message, error) { return s(ctx) }
func (s scripted) Close() error                                            { return nil }

// blocked fetches nothing, as at the end of a partition.
func blocked(ctx context.Context) (kafka.Message, error) {
	<-ctx.Done()
	return kafka.Message{}, ctx.Err()
}

// commits keeps what is committed for partition 0 of topic "t".
type commits struct {
	mu   sync.Mutex
	made []int64 // guarded by mu
	err  error   // guarded by mu
}

func (c *commits) CommitOffsets(offsets map[string]map[int]int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.made = append(c.made, offsets["t"][0])
	return nil
}

func (c *commits) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *commits) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.made)
}

// handles is a Handler that is a function.
type handles func(ctx context.Context, r push.Record, done func(error)) error

func (h handles) Handle(ctx context.Context, r push.Record, done func(error)) error {
	return h(ctx, r, done)
}

func doneAtOnce(_ context.Context, _ push.Record, done func(error)) error {
	done(nil)
	return nil
}

// letterbox is a publisher that takes every letter.
type letterbox struct{ written atomic.Int64 }

func (l *letterbox) Publish(_ context.Context, records []push.Record) error {
	l.written.Add(int64(len(records)))
	return nil
}

// journal keeps the events told.
type journal struct {
	mu   sync.Mutex
	told []Event // guarded by mu
}

func (j *journal) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, e)
}

func (j *journal) all() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.told)
}

// alone is a generation with partition 0 of topic "t" on no Kafka; open makes its readers.
func alone(t *testing.T, h handles, open func(offset int64) fetcher) (*generation, *commits, *journal) {
	t.Helper()
	told := &journal{}
	c, err := New(Config{
		Cluster: Cluster{Brokers: []string{"127.0.0.1:1"}}, Group: "g", Topics: []string{"t"}, DeadLetterTopic: "d",
		WatchEvery: 24 * time.Hour,
		OnEvent:    told.add,
	}, h, nil)
	if err != nil {
		t.Fatalf("making a consumer: %v", err)
	}
	c.letters = &letterbox{}
	c.open = func(_ string, _ int, offset int64, _ *atomic.Int64, _ func(error)) fetcher { return open(offset) }
	made := &commits{}
	g := &generation{c: c, id: 1, commits: made}
	g.partitions = []*partition{newPartition(g, "t", kafka.PartitionAssignment{ID: 0, Offset: kafka.FirstOffset})}
	return g, made, told
}

// stream gives the offsets from the one asked for up to n.
func stream(n int64) func(offset int64) fetcher {
	return func(offset int64) fetcher {
		next := max(offset, 0)
		return scripted(func(ctx context.Context) (kafka.Message, error) {
			if next >= n {
				return blocked(ctx)
			}
			m := kafka.Message{Topic: "t", Offset: next, Value: []byte("v"), HighWaterMark: n}
			next++
			return m, nil
		})
	}
}

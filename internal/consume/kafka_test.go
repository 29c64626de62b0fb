package consume_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"pusher/internal/consume"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// cluster is a Kafka with names of its own for one test.
type cluster struct {
	brokers           []string
	main, retry, dead string
	make              func(topic string, partitions int)
	grow              func(topic string, partitions int)
}

// kafkas are the kinds of Kafka that a behaviour is tested on: an in-process one and a real one. Each begins with a
// number of partitions of the main and the retry topic (0: they do not exist yet) and one of the dead-letter topic.
func kafkas() map[string]func(t *testing.T, partitions int) cluster {
	all := map[string]func(*testing.T, int) cluster{}
	for name, begin := range map[string]func(*testing.T) cluster{"fake": fake, "real": realKafka} {
		all[name] = func(t *testing.T, partitions int) cluster {
			t.Helper()
			return begin(t).with(partitions)
		}
	}
	return all
}

// with makes the topics.
func (k cluster) with(partitions int) cluster {
	k.make(k.dead, 1)
	if partitions > 0 {
		k.make(k.main, partitions)
		k.make(k.retry, partitions)
	}
	return k
}

// fake is an in-process Kafka.
func fake(t *testing.T) cluster { t.Helper(); return fakeThrough(t, net.Listen) }

// fakeThrough is an in-process Kafka behind a listener of the test; nil: kfake's own.
func fakeThrough(t *testing.T, listen func(network, address string) (net.Listener, error), opts ...kfake.Opt) cluster {
	t.Helper()
	opts = append(opts, kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	if listen != nil {
		opts = append(opts, kfake.ListenFn(listen))
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatalf("starting kfake: %v", err)
	}
	t.Cleanup(c.Close)
	return named(t, c.ListenAddrs(), func(topic string, partitions int) {
		if err := c.CreateTopic(topic, int32(partitions), nil); err != nil {
			t.Fatalf("making topic %s: %v", topic, err)
		}
	})
}

// realKafka is a real Kafka, shared with other tests.
func realKafka(t *testing.T) cluster {
	t.Helper()
	brokers := testbed.Kafka(t)
	return named(t, brokers, func(topic string, partitions int) { testbed.MakeTopic(t, brokers[0], topic, partitions) })
}

func named(t *testing.T, brokers []string, create func(string, int)) cluster {
	t.Helper()
	name := testbed.Unique(t)
	return cluster{
		brokers: brokers, main: name, retry: name + "-retry", dead: name + "-dlq",
		make: create,
		grow: func(topic string, partitions int) { grow(t, brokers, topic, partitions) },
	}
}

func grow(t *testing.T, brokers []string, topic string, partitions int) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport, Timeout: 10 * time.Second}
	res, err := client.CreatePartitions(t.Context(), &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(partitions)}},
	})
	if err == nil {
		err = res.Errors[topic]
	}
	if err != nil {
		t.Fatalf("growing topic %s: %v", topic, err)
	}
}

func (k cluster) remove(t *testing.T, topic string) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(k.brokers...), Transport: transport, Timeout: 10 * time.Second}
	if _, err := client.DeleteTopics(t.Context(), &kafka.DeleteTopicsRequest{Topics: []string{topic}}); err != nil {
		t.Fatalf("deleting topic %s: %v", topic, err)
	}
}

// quick is a configuration with short times for tests.
func (k cluster) quick() consume.Config {
	return consume.Config{
		Cluster:         consume.Cluster{Brokers: k.brokers},
		Group:           k.main,
		Topics:          []string{k.main, k.retry},
		DeadLetterTopic: k.dead,
		SessionTimeout:  6 * time.Second,
		Heartbeat:       200 * time.Millisecond,
		DrainTimeout:    2 * time.Second,
		Grace:           5 * time.Second,
		CommitEvery:     50 * time.Millisecond,
		WatchEvery:      200 * time.Millisecond,
		DeafAfter:       5 * time.Second,
		Backoff:         20 * time.Millisecond,
	}
}

// member is a running consumer.
type member struct {
	*consume.Consumer

	stop func() time.Duration // ends Run, and says how long it took
}

// start runs a consumer until the test ends, or until it is stopped.
func start(t *testing.T, cfg consume.Config, h consume.Handler) *member {
	t.Helper()
	if cfg.OnEvent == nil {
		cfg.OnEvent = func(e consume.Event) { t.Log(time.Now().Format("05.000"), e) }
	}
	letters := producer(t, cfg.Cluster)
	c, err := consume.New(cfg, h, letters)
	if err != nil {
		t.Fatalf("making a consumer: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop := sync.OnceValue(func() time.Duration {
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("running: %v", err)
		}
		return time.Since(began)
	})
	t.Cleanup(func() { stop() })
	return &member{Consumer: c, stop: stop}
}

func producer(t *testing.T, cluster consume.Cluster) *consume.Producer {
	t.Helper()
	p, err := consume.NewProducer(cluster)
	if err != nil {
		t.Fatalf("making a producer: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.Close(ctx)
	})
	return p
}

// put writes messages to the partition that they name, in order.
func (k cluster) put(t *testing.T, messages ...kafka.Message) {
	t.Helper()
	write(t, &kafka.Writer{Addr: kafka.TCP(k.brokers...)}, messages...)
}

func write(t *testing.T, w *kafka.Writer, messages ...kafka.Message) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	defer func() { _ = w.Close() }()
	w.Transport, w.RequiredAcks, w.BatchTimeout = transport, kafka.RequireAll, time.Millisecond
	w.BatchBytes = 64 << 20
	w.Balancer = kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return m.WriterData.(int) })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := w.WriteMessages(ctx, messages...); err != nil {
		t.Fatalf("writing %d messages: %v", len(messages), err)
	}
}

// event is a message with this value for a partition.
func event(topic string, partition int, value string) kafka.Message {
	return kafka.Message{Topic: topic, Value: []byte(value), WriterData: partition}
}

// events are n of them, named prefix-0 and on.
func events(topic string, partition int, prefix string, n int) []kafka.Message {
	var all []kafka.Message
	for i := range n {
		all = append(all, event(topic, partition, fmt.Sprintf("%s-%d", prefix, i)))
	}
	return all
}

// committed is the group's committed offset; -1 when there is none, -2 while Kafka does not answer.
func (k cluster) committed(topic string, partition int) int64 {
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(k.brokers...), Transport: transport, Timeout: 5 * time.Second}
	res, err := client.OffsetFetch(context.Background(), &kafka.OffsetFetchRequest{
		GroupID: k.main, Topics: map[string][]int{topic: {partition}},
	})
	if err != nil {
		return -2
	}
	for _, p := range res.Topics[topic] {
		return p.CommittedOffset
	}
	return -1
}

// readAll reads a partition's records from its first on, until n are there.
func (k cluster) readAll(t *testing.T, topic string, n int) []kafka.Message {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: k.brokers, Topic: topic, MaxWait: 200 * time.Millisecond, MaxBytes: 8 << 20})
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var all []kafka.Message
	for len(all) < n {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			t.Fatalf("reading %s after %d of %d records: %v", topic, len(all), n, err)
		}
		all = append(all, m)
	}
	return all
}

// eventually waits until ok, which is what the test observes, holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	within(t, 30*time.Second, what, ok)
}

func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// taker is a handler that keeps what it gets; answer decides what becomes of it, nil: done at once.
type taker struct {
	answer func(ctx context.Context, r push.Record, done func(error)) error

	mu  sync.Mutex
	got []push.Record // guarded by mu
}

func (h *taker) Handle(ctx context.Context, r push.Record, done func(error)) error {
	h.mu.Lock()
	h.got = append(h.got, r)
	h.mu.Unlock()
	if h.answer != nil {
		return h.answer(ctx, r, done)
	}
	done(nil)
	return nil
}

// values are those received, with repeats, sorted.
func (h *taker) values() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, r := range h.got {
		all = append(all, string(r.Value))
	}
	slices.Sort(all)
	return all
}

// has reports whether each of want was received.
func (h *taker) has(want ...string) bool {
	values := h.values()
	for _, w := range want {
		if _, ok := slices.BinarySearch(values, w); !ok {
			return false
		}
	}
	return true
}

// count is how often value was received.
func (h *taker) count(value string) int {
	n := 0
	for _, v := range h.values() {
		if v == value {
			n++
		}
	}
	return n
}

package consume_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

func TestFieldReport08_ABacklogIsHeldInBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the process, so it runs alone
	k := realKafka(t).with(12)
	pad := strings.Repeat("x", 150_000)
	for p := range 12 { // 72 MB in all
		write(t, &kafka.Writer{Addr: kafka.TCP(k.brokers...), BatchSize: 5}, events(k.main, p, pad, 40)...)
	}
	var out, most atomic.Int64
	room := make(chan struct{}, 8)
	h := handlerFunc(func(ctx context.Context, _ push.Record, done func(error)) error {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		most.Store(max(most.Load(), out.Add(1)))
		time.AfterFunc(20*time.Millisecond, func() { out.Add(-1); <-room; done(nil) })
		return nil
	})
	heap, goroutines := footprint()
	m := start(t, k.quick(), h)
	var heapMost uint64
	goroutinesMost := 0
	within(t, 2*time.Minute, "the backlog is gone", func() bool {
		nowHeap, nowGoroutines := footprint()
		heapMost, goroutinesMost = max(heapMost, nowHeap), max(goroutinesMost, nowGoroutines)
		s := m.Stats()
		return s.Records == 480 && lag(s) == 0
	})
	if most.Load() > 8 {
		t.Errorf("%d records out at once, room for 8", most.Load())
	}
	if grown := int64(heapMost) - int64(heap); grown > 40<<20 {
		t.Errorf("live memory grew by %d MB", grown>>20)
	}
	if grown := goroutinesMost - goroutines; grown > 24*8 {
		t.Errorf("goroutines grew by %d for 24 partitions", grown)
	}
}

// footprint is the live heap in bytes and the number of goroutines.
func footprint() (heap uint64, goroutines int) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// handlerFunc is a Handler that keeps nothing.
type handlerFunc func(ctx context.Context, r push.Record, done func(error)) error

func (f handlerFunc) Handle(ctx context.Context, r push.Record, done func(error)) error {
	return f(ctx, r, done)
}

func TestFieldReport08_AnEventLargerThanAFetchIsRead(t *testing.T) {
	t.Parallel()
	k := realKafka(t).with(1)
	configure(t, k.brokers, k.main, "max.message.bytes", "8000000")
	large := strings.Repeat("x", 3<<20)
	k.put(t, event(k.main, 0, "small"))
	k.put(t, event(k.main, 0, large))
	k.put(t, event(k.main, 0, "after"))
	h := &taker{}
	start(t, k.quick(), h)
	eventually(t, "all three are read", func() bool { return h.has("small", large, "after") })
}

func TestFieldReport09_EveryCodecIsRead(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			codecs := map[string]kafka.Compression{
				"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
			}
			var want []string
			for name, codec := range codecs {
				all := events(k.main, 0, name, 5)
				write(t, &kafka.Writer{Addr: kafka.TCP(k.brokers...), Compression: codec}, all...)
				for _, m := range all {
					want = append(want, string(m.Value))
				}
			}
			h := &taker{}
			start(t, k.quick(), h)
			eventually(t, "all are read", func() bool { return h.has(want...) })
			eventually(t, "all are committed", func() bool { return k.committed(k.main, 0) == int64(len(want)) })
		})
	}
}

// configure sets a topic's setting.
func configure(t *testing.T, brokers []string, topic, name, value string) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport, Timeout: 10 * time.Second}
	res, err := client.IncrementalAlterConfigs(t.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet}},
		}},
	})
	if err != nil || res.Resources[0].Error != nil {
		t.Fatalf("configuring %s: %v %v", topic, err, res)
	}
}

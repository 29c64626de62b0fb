package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/consume"
	"pusher/internal/dedup"
	"pusher/internal/testbed"
)

// BenchmarkGateway is the door on real Kafka and Redis, with its clients on the same cores: events a second, one by one
// and in batches of a hundred, by key and by fingerprint, and duplicates only.
func BenchmarkGateway(b *testing.B) {
	brokers := testbed.Kafka(b)
	producer, err := consume.NewFrontProducer(consume.Cluster{Brokers: brokers})
	if err != nil {
		b.Fatal(err)
	}
	defer producer.Close(context.Background())
	name := testbed.Topic(b, 8)
	w := newWorld(b, testbed.Redis(b), func(c *Config) { c.Topic, c.Log, c.Lease = name, zerolog.Nop(), 10*time.Second })
	w.gateway.writer = producer
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	var next atomic.Int64
	for _, bb := range []struct {
		name       string
		events     int
		key, again bool
	}{
		{"single events by key", 1, true, false},
		{"batches of 100 by key", 100, true, false},
		{"batches of 100 by fingerprint", 100, false, false},
		{"duplicates of 100 by key", 100, true, true},
		{"duplicates of 100 by fingerprint", 100, false, true},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetParallelism(16)
			same, key := array(events(int(next.Add(100)), bb.events)...), fmt.Sprint("same", next.Add(1))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					body, key := same, key
					if !bb.again {
						n := int(next.Add(int64(bb.events)))
						body, key = array(events(n, bb.events)...), strconv.Itoa(n)
					}
					r, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, w.URL+"/v1/events", strings.NewReader(body))
					r.Header.Set("Authorization", "Bearer "+w.secret)
					if bb.key {
						r.Header.Set(dedup.HeaderKey, key)
					}
					res, err := transport.RoundTrip(r)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
					if res.StatusCode != http.StatusAccepted && (!bb.again || res.StatusCode != http.StatusConflict) {
						b.Errorf("answered %d", res.StatusCode)
					}
				}
			})
			b.ReportMetric(float64(b.N*bb.events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

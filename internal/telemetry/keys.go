package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Keys shows the dedup keys in Redis, as they were last sampled. It is a prometheus.Collector, safe for concurrent use.
type Keys struct {
	count, bytes, evicted *prometheus.Desc
	failed                prometheus.Counter

	mu     sync.Mutex // guards last
	last   [3]float64 // keys, bytes, evictions; < 0 where not known
	looked bool       // guarded by mu; last is the word of the last look
}

// Keys makes and registers the metrics of dedup keys; they are absent until Looked is called.
func (m *Metrics) Keys() *Keys {
	k := &Keys{
		count:   gauge("dedup_keys", "Dedup keys in Redis, estimated from a sample."),
		bytes:   gauge("dedup_keys_bytes", "Memory of the dedup keys in Redis, estimated from a sample."),
		evicted: gauge("redis_evicted_keys_total", "Keys that Redis forgot before their time to make room, since it started."),
		failed:  m.unread.WithLabelValues("dedup_keys"),
	}
	m.registry.MustRegister(k)
	return k
}

// Looked takes a sample; a value below 0 is not known.
func (k *Keys) Looked(count, bytes float64, evicted int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.looked = [3]float64{count, bytes, float64(evicted)}, true
}

// Failed notes that there was no answer: what was known is old.
func (k *Keys) Failed() {
	k.failed.Inc()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked = false
}

// Describe tells the metrics.
func (k *Keys) Describe(ch chan<- *prometheus.Desc) { ch <- k.count; ch <- k.bytes; ch <- k.evicted }

// Collect shows the last sample.
func (k *Keys) Collect(ch chan<- prometheus.Metric) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.looked {
		return
	}
	kinds := []prometheus.ValueType{prometheus.GaugeValue, prometheus.GaugeValue, prometheus.CounterValue}
	for i, desc := range []*prometheus.Desc{k.count, k.bytes, k.evicted} {
		if k.last[i] >= 0 {
			ch <- prometheus.MustNewConstMetric(desc, kinds[i], k.last[i])
		}
	}
}

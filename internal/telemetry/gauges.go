package telemetry

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// scrapeTimeout bounds a gauge that asks a service when scraped.
const scrapeTimeout = 2 * time.Second

// WatchHeld shows how many deliveries stand at a stage: one of the Stage constants, each watched once.
func (m *Metrics) WatchHeld(stage string, count func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pusher_in_flight", Help: "Deliveries held by this process, by stage.",
		ConstLabels: prometheus.Labels{"stage": stage},
	}, func() float64 { return float64(count()) }))
}

// WatchBytes shows how many bytes of records wait in this process.
func (m *Metrics) WatchBytes(count func() int64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pusher_waiting_bytes", Help: "Bytes of the records held by this process.",
	}, func() float64 { return float64(count()) }))
}

// WatchRedis shows whether the push log alone arbitrates, since Redis does not answer.
func (m *Metrics) WatchRedis(without func() bool) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pusher_without_redis", Help: "1 while the push log alone arbitrates, since Redis does not answer.",
	}, func() float64 {
		if without() {
			return 1
		}
		return 0
	}))
}

// WatchToken shows how old WeChat's access token is; absent while there is none.
func (m *Metrics) WatchToken(age func() (time.Duration, bool)) {
	m.registry.MustRegister(optional{
		read: func() (float64, bool) { old, ok := age(); return old.Seconds(), ok },
		desc: prometheus.NewDesc("pusher_wechat_token_age_seconds", "Age of the access token in use.", nil, nil),
	})
}

// optional is a gauge that is absent while there is nothing to tell.
type optional struct {
	read func() (float64, bool)
	desc *prometheus.Desc
}

// Describe tells the metric.
func (o optional) Describe(ch chan<- *prometheus.Desc) { ch <- o.desc }

// Collect reads the gauge.
func (o optional) Collect(ch chan<- prometheus.Metric) {
	if value, ok := o.read(); ok {
		ch <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, value)
	}
}

// Partition is how far one assigned partition is read.
type Partition struct {
	Topic     string
	Partition int
	Watermark int64 // next offset that is not yet taken care of
	End       int64 // offset of the next record to be produced; < 0 when not known
}

// WatchPartitions shows watermark and lag of the partitions that read lists; it must not block.
func (m *Metrics) WatchPartitions(read func() []Partition) {
	labels := []string{"topic", "partition"}
	m.registry.MustRegister(partitions{
		read:      read,
		watermark: prometheus.NewDesc("pusher_watermark_offset", "Offset below which all is taken care of.", labels, nil),
		lag:       prometheus.NewDesc("pusher_lag_records", "Records between the watermark and the partition's end.", labels, nil),
	})
}

// partitions is a prometheus.Collector: partitions come and go with each generation.
type partitions struct {
	read           func() []Partition
	watermark, lag *prometheus.Desc
}

// Describe tells the two metrics.
func (p partitions) Describe(ch chan<- *prometheus.Desc) { ch <- p.watermark; ch <- p.lag }

// Collect reads the partitions assigned now.
func (p partitions) Collect(ch chan<- prometheus.Metric) {
	for _, part := range p.read() {
		labels := []string{part.Topic, strconv.Itoa(part.Partition)}
		ch <- prometheus.MustNewConstMetric(p.watermark, prometheus.GaugeValue, float64(part.Watermark), labels...)
		if part.End >= 0 {
			lag := max(part.End-part.Watermark, 0)
			ch <- prometheus.MustNewConstMetric(p.lag, prometheus.GaugeValue, float64(lag), labels...)
		}
	}
}

// ReadUnknown counts the deliveries whose outcome is not known, and how long the oldest has been so.
type ReadUnknown func(ctx context.Context) (count int, oldest time.Duration, err error)

// WatchUnknown shows the deliveries whose outcome is not known; read is asked at each scrape, for two seconds at most.
func (m *Metrics) WatchUnknown(read ReadUnknown) {
	m.registry.MustRegister(unknowns{
		read: read, failed: m.unread.WithLabelValues("unknown"),
		count:  prometheus.NewDesc("pusher_unknown_deliveries", "Deliveries that may have been sent.", nil, nil),
		oldest: prometheus.NewDesc("pusher_unknown_oldest_seconds", "Age of the oldest such delivery.", nil, nil),
	})
}

// unknowns is a prometheus.Collector: both gauges come from one question.
type unknowns struct {
	read          ReadUnknown
	failed        prometheus.Counter
	count, oldest *prometheus.Desc
}

// Describe tells the two metrics.
func (u unknowns) Describe(ch chan<- *prometheus.Desc) { ch <- u.count; ch <- u.oldest }

// Collect asks once; without an answer both gauges are absent, and the failure is counted.
func (u unknowns) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	count, oldest, err := u.read(ctx)
	if err != nil {
		u.failed.Inc()
		return
	}
	ch <- prometheus.MustNewConstMetric(u.count, prometheus.GaugeValue, float64(count))
	ch <- prometheus.MustNewConstMetric(u.oldest, prometheus.GaugeValue, oldest.Seconds())
}

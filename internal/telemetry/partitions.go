package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Partition is how far one assigned partition is read.
type Partition struct {
	Topic     string
	Partition int
	Watermark int64 // next offset that is not yet taken care of
	End       int64 // offset of the next record to be produced; < 0 when not known
	Out       int   // records handed out and not taken care of

	Standing time.Duration // for how long the committed offset has not moved while records beyond it were read
}

// WatchPartitions shows watermark, lag and commits of the partitions that read lists; it must not block.
func (m *Metrics) WatchPartitions(read func() []Partition) {
	labels := []string{"topic", "partition"}
	m.registry.MustRegister(partitions{
		read:      read,
		watermark: prometheus.NewDesc("pusher_watermark_offset", "Offset below which all is taken care of.", labels, nil),
		lag:       prometheus.NewDesc("pusher_lag_records", "Records between the watermark and the partition's end.", labels, nil),
		out:       prometheus.NewDesc("pusher_out_records", "Records read and not taken care of.", labels, nil),
		standing: prometheus.NewDesc("pusher_commit_age_seconds",
			"Time for which the committed offset has not moved while records beyond it were read.", labels, nil),
	})
}

// partitions is a prometheus.Collector: partitions come and go with each generation.
type partitions struct {
	read func() []Partition

	watermark, lag, out, standing *prometheus.Desc
}

// Describe tells the metrics.
func (p partitions) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.watermark, p.lag, p.out, p.standing} {
		ch <- d
	}
}

// Collect reads the partitions assigned now.
func (p partitions) Collect(ch chan<- prometheus.Metric) {
	for _, part := range p.read() {
		labels := []string{part.Topic, strconv.Itoa(part.Partition)}
		ch <- prometheus.MustNewConstMetric(p.watermark, prometheus.GaugeValue, float64(part.Watermark), labels...)
		ch <- prometheus.MustNewConstMetric(p.out, prometheus.GaugeValue, float64(part.Out), labels...)
		ch <- prometheus.MustNewConstMetric(p.standing, prometheus.GaugeValue, part.Standing.Seconds(), labels...)
		if part.End >= 0 {
			lag := max(part.End-part.Watermark, 0)
			ch <- prometheus.MustNewConstMetric(p.lag, prometheus.GaugeValue, float64(lag), labels...)
		}
	}
}

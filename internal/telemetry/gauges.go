package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
	}, func() float64 { return one(without()) }))
}

// WatchToken shows how old WeChat's access token is; absent while there is none.
func (m *Metrics) WatchToken(age func() (time.Duration, bool)) {
	m.registry.MustRegister(optional{
		read: func() (float64, bool) { old, ok := age(); return old.Seconds(), ok },
		desc: gauge("wechat_token_age_seconds", "Age of the access token in use."),
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

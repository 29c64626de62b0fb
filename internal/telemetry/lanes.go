package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Lane is what holds a provider back at the moment.
type Lane struct {
	Provider string
	Breaker  int            // 0 closed, 1 half-open, 2 open
	InFlight int            // requests out
	Limit    int            // how many may be
	Limited  bool           // it has a rate; the next three are of it
	Shared   bool           // the rate is shared through Redis; false: this process keeps to its share
	Sharing  int            // processes that share the rate; 0: not known
	Waiting  int            // messages that wait for their turn
	Stops    map[string]int // accounts, channels and templates that are stopped, by scope
}

// WatchLanes shows the lanes that read lists; it must not block.
func (m *Metrics) WatchLanes(read func() []Lane) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("pusher_provider_"+name, help, append([]string{"provider"}, labels...), nil)
	}
	m.registry.MustRegister(lanes{
		read:     read,
		breaker:  desc("breaker_state", "Whether the provider counts as failed: 0 closed, 1 probing, 2 open."),
		inFlight: desc("in_flight", "Requests out at the provider."),
		limit:    desc("in_flight_limit", "How many requests may be out at the provider."),
		shared:   desc("rate_shared", "1 while the rate is shared through Redis, 0 while this process keeps to its share."),
		sharing:  desc("rate_instances", "Processes that share the rate, as far as this one knows; 0 before it has heard."),
		waiting:  desc("rate_waiting", "Messages that wait for their turn at the rate."),
		stops:    desc("stops", "Accounts, channels and templates that are stopped.", "scope"),
	})
}

// RateWaits counts the waits for the rate of a provider.
func (m *Metrics) RateWaits(provider string) func(waited time.Duration) {
	waits := m.rateWaits.WithLabelValues(oneOf(providers, provider))
	return func(waited time.Duration) { waits.Observe(waited.Seconds()) }
}

// newRateWaits makes the histogram of waits for a rate.
func newRateWaits() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "pusher_rate_wait_seconds", Help: "Waits of messages for their turn at the provider's rate, in vain or not.",
		Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 2.5, 5, 10, 30},
	}, []string{"provider"})
}

// lanes is a prometheus.Collector: all gauges come from one look.
type lanes struct {
	read                                                      func() []Lane
	breaker, inFlight, limit, shared, sharing, waiting, stops *prometheus.Desc
}

// Describe tells the metrics.
func (l lanes) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.breaker, l.inFlight, l.limit, l.shared, l.sharing, l.waiting, l.stops} {
		ch <- d
	}
}

// Collect looks at the lanes. What concerns a rate is absent where there is none.
func (l lanes) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, lane := range l.read() {
		provider := oneOf(providers, lane.Provider)
		gauge(l.breaker, float64(lane.Breaker), provider)
		gauge(l.inFlight, float64(lane.InFlight), provider)
		gauge(l.limit, float64(lane.Limit), provider)
		for _, scope := range scopes.values() {
			gauge(l.stops, float64(lane.Stops[scope]), provider, scope)
		}
		if lane.Limited {
			gauge(l.shared, one(lane.Shared), provider)
			gauge(l.sharing, float64(lane.Sharing), provider)
			gauge(l.waiting, float64(lane.Waiting), provider)
		}
	}
}

package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pusher/internal/push"
)

// scrapeTimeout bounds a gauge that asks a service when scraped.
const scrapeTimeout = 2 * time.Second

// asked is a prometheus.Collector: gauges that one question to a service answers.
type asked struct {
	gauges []*prometheus.Desc
	failed prometheus.Counter
	ask    func(ctx context.Context) ([]told, error)
}

// told is the value of one of the gauges, by its place among them.
type told struct {
	gauge  int
	value  float64
	labels []string
}

// watchAsked shows gauges that are asked for at each scrape, for two seconds at most.
func (m *Metrics) watchAsked(source string, ask func(context.Context) ([]told, error), gauges ...*prometheus.Desc) {
	m.registry.MustRegister(asked{gauges: gauges, failed: m.unread.WithLabelValues(source), ask: ask})
}

// gauge describes a gauge of the house.
func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("pusher", "", name), help, labels, nil)
}

// Describe tells the metrics.
func (a asked) Describe(ch chan<- *prometheus.Desc) {
	for _, g := range a.gauges {
		ch <- g
	}
}

// Collect asks once; without an answer the gauges are absent, and the failure is counted.
func (a asked) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	answers, err := a.ask(ctx)
	if err != nil {
		a.failed.Inc()
		return
	}
	for _, t := range answers {
		ch <- prometheus.MustNewConstMetric(a.gauges[t.gauge], prometheus.GaugeValue, t.value, t.labels...)
	}
}

// ReadOldest counts what waits for something, and says how long the oldest has.
type ReadOldest func(ctx context.Context) (count int, oldest time.Duration, err error)

// both is the answer of a ReadOldest for two gauges.
func (read ReadOldest) both(ctx context.Context) ([]told, error) {
	count, oldest, err := read(ctx)
	return []told{{0, float64(count), nil}, {1, oldest.Seconds(), nil}}, err
}

// WatchUnknown shows the deliveries whose outcome is not known.
func (m *Metrics) WatchUnknown(read ReadOldest) {
	m.watchAsked("unknown", read.both,
		gauge("unknown_deliveries", "Deliveries that may have been sent."),
		gauge("unknown_oldest_seconds", "Age of the oldest such delivery."))
}

// WatchParked shows the receipts that have no delivery yet.
func (m *Metrics) WatchParked(read ReadOldest) {
	m.watchAsked("receipts", read.both,
		gauge("parked_receipts", "Receipts that have found no delivery yet."),
		gauge("parked_receipts_oldest_seconds", "Age of the oldest such receipt."))
}

// Unsent is the deliveries of one status that still are to be sent.
type Unsent struct {
	Status push.Status
	Count  int
	Oldest time.Duration // age of the oldest; below 0 counts as 0
	Late   time.Duration // since the first was due; likewise
}

// WatchUnsent shows the deliveries that still are to be sent; a status without any shows zeros.
func (m *Metrics) WatchUnsent(read func(context.Context) ([]Unsent, error)) {
	ask := func(ctx context.Context) ([]told, error) {
		list, err := read(ctx)
		found := map[push.Status]Unsent{}
		for _, u := range list {
			found[u.Status] = u
		}
		var answers []told
		for _, s := range []push.Status{push.Sending, push.Queued, push.Failed, push.Deferred} {
			u, labels := found[s], []string{string(s)}
			answers = append(answers, told{0, float64(u.Count), labels},
				told{1, max(u.Oldest, 0).Seconds(), labels}, told{2, max(u.Late, 0).Seconds(), labels})
		}
		return answers, err
	}
	m.watchAsked("unsent", ask,
		gauge("unsent_deliveries", "Deliveries that still are to be sent.", "status"),
		gauge("unsent_oldest_seconds", "Age of the oldest such delivery.", "status"),
		gauge("overdue_oldest_seconds", "Time since the first such delivery was due, or its lease was over.", "status"))
}

// WatchReady shows which dependencies answer.
func (m *Metrics) WatchReady(probe func(context.Context) map[string]bool) {
	ask := func(ctx context.Context) ([]told, error) {
		var answers []told
		for dependency, ready := range probe(ctx) {
			answers = append(answers, told{0, one(ready), []string{dependency}})
		}
		return answers, nil
	}
	m.watchAsked("ready", ask, gauge("ready", "1 while the dependency can be used, as /readyz says.", "dependency"))
}

// one is 1 of what is so.
func one(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pusher/internal/push"
)

// Metrics counts what the pipeline does. It is safe for use by many goroutines; *Metrics is a deliver.Meter.
type Metrics struct {
	registry *prometheus.Registry

	events      *prometheus.CounterVec   // outcome
	deliveries  *prometheus.CounterVec   // action, provider, status
	duplicates  *prometheus.CounterVec   // action, by
	attempts    *prometheus.CounterVec   // action, provider, class
	took        *prometheus.HistogramVec // action, provider
	leasesLost  *prometheus.CounterVec   // action
	takeovers   *prometheus.CounterVec   // action
	switches    *prometheus.CounterVec   // action, provider, next
	deadLetters *prometheus.CounterVec   // reason
	consumer    *prometheus.CounterVec   // kind
	unread      *prometheus.CounterVec   // source
	rateWaits   *prometheus.HistogramVec // provider
	receipts    receipts
	failures    failures
	hot         hot
}

// hot is the metrics that every delivery meets.
type hot struct {
	events     children[string, prometheus.Counter]
	deliveries children[rowLabels, prometheus.Counter]
	duplicates children[duplicateLabels, prometheus.Counter]
	attempts   children[attemptLabels, attempt]
}

type rowLabels struct {
	action   push.Action
	provider string
	status   push.Status
}

type duplicateLabels struct {
	action push.Action
	by     string
}

type attemptLabels struct {
	action   push.Action
	provider string
	class    push.Class
}

// attempt is the count and the times of requests.
type attempt struct {
	count prometheus.Counter
	took  prometheus.Observer
}

// heat says where the metrics are that every delivery meets.
func (m *Metrics) heat() {
	m.hot.events.find = func(outcome string) prometheus.Counter {
		return m.events.WithLabelValues(oneOf(outcomes, outcome))
	}
	m.hot.deliveries.find = func(l rowLabels) prometheus.Counter {
		return m.deliveries.WithLabelValues(action(l.action), oneOf(providers, l.provider), status(l.status))
	}
	m.hot.duplicates.find = func(l duplicateLabels) prometheus.Counter {
		return m.duplicates.WithLabelValues(action(l.action), oneOf(stoppers, l.by))
	}
	m.hot.attempts.find = func(l attemptLabels) attempt {
		provider := oneOf(providers, l.provider)
		return attempt{
			count: m.attempts.WithLabelValues(action(l.action), provider, l.class.String()),
			took:  m.took.WithLabelValues(action(l.action), provider),
		}
	}
}

// New makes the metrics of one process, with those of Go and the process itself.
func New(version string) *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		events:      counter("events_total", "Records taken care of, by what became of them.", "outcome"),
		deliveries:  counter("deliveries_total", "Deliveries whose turn ended, by what their row said.", "action", "provider", "status"),
		duplicates:  counter("duplicates_total", "Messages discarded as duplicates, by what stopped them.", "action", "by"),
		attempts:    counter("attempts_total", "Requests at providers, by what the answer meant.", "action", "provider", "class"),
		leasesLost:  counter("lease_lost_total", "Claims found in another owner's hands.", "action"),
		takeovers:   counter("takeovers_total", "Attempts taken over from an owner whose lease was over.", "action"),
		switches:    counter("switches_total", "Refusals after which the next provider was tried.", "action", "provider", "next"),
		deadLetters: counter("dead_letters_total", "Records written to the dead-letter topic.", "reason"),
		consumer:    counter("consumer_events_total", "What happened to the Kafka consumer, throttled.", "kind"),
		unread:      counter("gauge_errors_total", "Gauges that could not be read when scraped.", "source"),
		rateWaits:   newRateWaits(),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pusher_attempt_duration_seconds", Help: "Time of one request at a provider.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"action", "provider"}),
	}
	m.heat()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.events, m.deliveries, m.duplicates, m.attempts, m.took, m.leasesLost, m.takeovers, m.switches, m.deadLetters,
		m.consumer, m.unread, m.rateWaits)
	m.receipts = newReceipts(m.registry)
	m.failures = newFailures(m.registry)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pusher_build_info", Help: "Always 1; the label tells the version.",
	}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(build)
	return m
}

// counter makes a counter of the house.
func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "pusher", Name: name, Help: help}, labels)
}

// Handler serves the metrics; a gauge that cannot be read keeps none of the others back.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Gatherer gives the metrics to whoever prints or tests them.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Event counts a record taken care of, by outcome: one of the Outcome constants.
func (m *Metrics) Event(outcome string) { m.hot.events.of(outcome).Inc() }

// Row counts what a delivery's row said when its turn ended.
func (m *Metrics) Row(a push.Action, provider string, s push.Status) {
	m.hot.deliveries.of(rowLabels{a, provider, s}).Inc()
}

// Duplicate counts a message discarded, by what stopped it: "redis" or "row".
func (m *Metrics) Duplicate(a push.Action, by string) {
	m.hot.duplicates.of(duplicateLabels{a, by}).Inc()
}

// Attempt counts one request at a provider and the time it took.
func (m *Metrics) Attempt(a push.Action, provider string, c push.Class, took time.Duration) {
	of := m.hot.attempts.of(attemptLabels{a, provider, c})
	of.count.Inc()
	of.took.Observe(took.Seconds())
}

// LeaseLost counts a claim found in another owner's hands.
func (m *Metrics) LeaseLost(a push.Action) { m.leasesLost.WithLabelValues(action(a)).Inc() }

// Takeover counts an attempt taken over from an owner whose lease was over (rules I5, I6).
func (m *Metrics) Takeover(a push.Action) { m.takeovers.WithLabelValues(action(a)).Inc() }

// Switched counts a refusal after which the next provider was tried (rule P5).
func (m *Metrics) Switched(a push.Action, provider, next string) {
	m.switches.WithLabelValues(action(a), oneOf(providers, provider), oneOf(providers, next)).Inc()
}

// DeadLetter counts a dead letter, by its push-reason.
func (m *Metrics) DeadLetter(reason string) {
	m.deadLetters.WithLabelValues(oneOf(reasons, reason)).Inc()
}

// Consumer counts an event of the consumer, by its kind; told is how many such events it stands for.
func (m *Metrics) Consumer(kind string, told int) {
	m.consumer.WithLabelValues(oneOf(kinds, kind)).Add(float64(told))
}

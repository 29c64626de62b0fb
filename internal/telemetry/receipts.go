package telemetry

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"pusher/internal/push"
)

// receipts counts the providers' later words.
type receipts struct {
	came    *prometheus.CounterVec   // provider, outcome
	matched *prometheus.CounterVec   // provider, report, effect
	failed  *prometheus.CounterVec   // provider, code
	waited  *prometheus.HistogramVec // provider
}

// newReceipts makes and registers the metrics of receipts.
func newReceipts(registry *prometheus.Registry) receipts {
	r := receipts{
		came:    counter("receipts_total", "Receipts at the door, by what became of them there.", "provider", "outcome"),
		matched: counter("receipts_matched_total", "Receipts that found their delivery at the door, by what they did to it.", "provider", "report", "effect"),
		failed:  counter("receipt_failures_total", "Receipts of messages that did not arrive, by the carrier's code.", "provider", "code"),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pusher_receipt_delay_seconds", Help: "Time from a message's acceptance to its receipt.",
			Buckets: []float64{.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600},
		}, []string{"provider"}),
	}
	registry.MustRegister(r.came, r.matched, r.failed, r.waited)
	return r
}

// Receipts counts what came, by outcome: one of those of internal/receipts.
func (m *Metrics) Receipts(provider, outcome string, n int) {
	m.receipts.came.WithLabelValues(oneOf(providers, provider), oneOf(receiptOutcomes, outcome)).Add(float64(n))
}

// Matched counts a receipt that found its delivery.
func (m *Metrics) Matched(r push.Matched) {
	provider := oneOf(providers, r.Provider)
	m.receipts.matched.WithLabelValues(provider, oneOf(reports, string(r.Report)), oneOf(effects, string(r.Effect))).Inc()
	if r.Effect == push.EffectSettled && r.Waited > 0 {
		m.receipts.waited.WithLabelValues(provider).Observe(r.Waited.Seconds())
	}
	if r.Report == push.ReportUndelivered {
		m.receipts.failed.WithLabelValues(provider, carrierCode(r.Code)).Inc()
	}
}

// carrierCode keeps the carriers' codes bounded: the known words, and of the numbered families (MK:0001) their name.
// The push log has the code whole.
func carrierCode(code string) string {
	if code == "" || slices.Contains(carrierCodes.values(), code) {
		return oneOf(carrierCodes, code)
	}
	family, _, numbered := strings.Cut(code, ":")
	if numbered {
		return oneOf(carrierFamilies, family)
	}
	return other
}

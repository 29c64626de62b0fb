package telemetry

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"pusher/internal/push"
)

// failures counts why attempts fail, and how long what failed waits.
type failures struct {
	codes   *prometheus.CounterVec   // provider, code
	backoff *prometheus.HistogramVec // action, class

	known *sync.Map // codes of each provider: [2]string{provider, code}
}

func newFailures(registry *prometheus.Registry) failures {
	f := failures{
		codes: counter("attempt_failures_total", "Attempts that were not accepted, by the provider's code or ours.", "provider", "code"),
		backoff: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pusher_backoff_seconds", Help: "Waits that attempts which may be tried again were given.",
			Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 6 * 3600, 24 * 3600},
		}, []string{"action", "class"}),
		known: &sync.Map{},
	}
	registry.MustRegister(f.codes, f.backoff)
	return f
}

// KnowCodes names codes of a provider that are labels of their own; any other counts as "other".
func (m *Metrics) KnowCodes(provider string, codes []string) {
	for _, code := range codes {
		m.failures.known.Store([2]string{provider, code}, true)
	}
}

// Ended counts what an attempt came to.
func (m *Metrics) Ended(a push.Action, r push.Result) {
	if r.Class == push.Accepted {
		return
	}
	provider := oneOf(providers, r.Provider)
	m.failures.codes.WithLabelValues(provider, m.failures.code(provider, r.Code)).Inc()
	switch r.Class {
	case push.NotSent, push.Throttled, push.Account:
		m.failures.backoff.WithLabelValues(action(a), oneOf(classes, r.Class.String())).Observe(r.Wait.Seconds())
	case push.Accepted, push.Permanent, push.Ambiguous:
	}
}

// code keeps the codes bounded: the provider's known ones, ours, and of HTTP statuses their hundred. The push log has
// the code whole.
func (f failures) code(provider, code string) string {
	if _, known := f.known.Load([2]string{provider, code}); known {
		return code
	}
	own, ofToken := strings.CutPrefix(code, "token_")
	if status, isStatus := strings.CutPrefix(own, "http_"); isStatus && len(status) == 3 && status[0] >= '1' && status[0] <= '5' {
		own = "http_" + status[:1] + "xx"
	} else {
		own = oneOf(ourCodes, own)
	}
	if ofToken && own != other {
		return "token_" + own
	}
	return own
}

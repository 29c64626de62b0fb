package telemetry

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The routes of the front door.
const (
	RouteEvents = "events"
	RouteTokens = "tokens"
	RoutePages  = "pages" // the OpenAPI document and its page
)

// Gateway counts what the front door does.
type Gateway struct {
	producers []string

	requests *prometheus.CounterVec   // route, code
	took     *prometheus.HistogramVec // route
	events   *prometheus.CounterVec   // producer, outcome
	guarded  *prometheus.CounterVec   // kind, outcome
}

// NewGateway makes and registers the front door's metrics; producers are all the names there are.
func NewGateway(m *Metrics, producers []string) *Gateway {
	g := &Gateway{
		producers: producers,
		requests:  counter("gateway_requests_total", "Requests answered at the front door, by HTTP status.", "route", "code"),
		events:    counter("gateway_events_total", "Events at the front door, by what became of them.", "producer", "outcome"),
		guarded:   counter("gateway_guard_total", "Keys claimed at the front door, by what the claim came to.", "kind", "outcome"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pusher_gateway_request_duration_seconds", Help: "Time of one request at the front door.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
	}
	m.registry.MustRegister(g.requests, g.events, g.guarded, g.took)
	return g
}

// Request counts one request and its time. The status is one that the program answers with, never the client's.
func (g *Gateway) Request(route string, status int, took time.Duration) {
	route = oneOf(routes, route)
	g.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	g.took.WithLabelValues(route).Observe(took.Seconds())
}

// Events counts what became of a producer's events.
func (g *Gateway) Events(producer, outcome string, n int) {
	if !slices.Contains(g.producers, producer) {
		producer = other
	}
	if n > 0 {
		g.events.WithLabelValues(producer, oneOf(arrivals, outcome)).Add(float64(n))
	}
}

// Guarded counts what a claim came to: kind is key, token or fingerprint.
func (g *Gateway) Guarded(kind string, outcome string) {
	g.guarded.WithLabelValues(oneOf(guards, kind), oneOf(guardOutcomes, outcome)).Inc()
}

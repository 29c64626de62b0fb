package e2e

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// receiver is a collector that takes OTLP over HTTP.
type receiver struct {
	mu   sync.Mutex // guards all below
	took []*spans.Span
	raw  bytes.Buffer
	path string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var export collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &export); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.path = req.URL.Path
	r.raw.Write(body)
	for _, resource := range export.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			r.took = append(r.took, scope.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// of counts the spans of a trace by name, and lists the parents of each by their ids.
func (r *receiver) of(trace string) (names map[string]int, byID, parents map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, byID, parents = map[string]int{}, map[string]string{}, map[string]string{}
	for _, s := range r.took {
		if hex.EncodeToString(s.GetTraceId()) == trace {
			names[s.GetName()]++
			byID[hex.EncodeToString(s.GetSpanId())] = s.GetName()
			parents[hex.EncodeToString(s.GetSpanId())] = hex.EncodeToString(s.GetParentSpanId())
		}
	}
	return names, byID, parents
}

// TestOneTraceFromTheEventOverTheRetryToTheProvider: and nothing personal in spans, log and metrics, which tell of it all.
func TestOneTraceFromTheEventOverTheRetryToTheProvider(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	taker, log := &receiver{}, &testbed.Log{}
	server := httptest.NewServer(taker)
	t.Cleanup(server.Close)
	s := newSystem(t, 1)
	s.patient()
	s.cfg.Telemetry.Traces = config.Traces{Exporter: config.ExporterOTLP, Endpoint: server.URL, Sample: 0}
	s.faults(provider.Fault{Kind: provider.Refuse, Provider: provider.Aliyun, Code: "isp.SYSTEM_ERROR"})
	p, stop := s.runAs(s.cfg, zerolog.New(log))
	record := push.Record{
		Origin: push.Origin{Topic: s.cfg.Kafka.Topic}, Value: []byte(event(42, "")),
		Headers: []push.Header{{Key: push.HeaderTraceParent, Value: []byte("00-" + trace + "-00f067aa0ba902b7-01")}},
	}
	if err := s.written.Publish(t.Context(), []push.Record{record}); err != nil {
		t.Fatal(err)
	}
	s.eventually("the SMS failed", func() bool { return s.statuses()["sms failed"] == 1 })
	s.faults()
	traces, err := assemble.Traces(t.Context(), s.cfg, zerolog.Nop(), "compensator", "test")
	if err != nil {
		t.Fatal(err)
	}
	s.eventually("all are sent", func() bool {
		if _, err := assemble.Pass(t.Context(), s.cfg, false, traces); err != nil {
			t.Fatal(err)
		}
		return s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == 3
	})
	s.caughtUp()
	_, metrics := get(t, "http://"+p.Addr()+"/metrics")
	traces.Close(t.Context())
	stop()
	names, byID, parents := taker.of(trace)
	if names["push.record"] != 2 || names["push.delivery"] != 4 || names["push.requeue"] < 1 || names["push.send"] < 4 || taker.path != "/v1/traces" {
		t.Errorf("the trace has %v, at %s", names, taker.path)
	}
	for id, name := range byID {
		want := map[string]string{"push.delivery": "push.record", "push.send": "push.delivery", "push.claim": "push.delivery"}[name]
		if want != "" && byID[parents[id]] != want {
			t.Errorf("%s is part of %q, want %s", name, byID[parents[id]], want)
		}
	}
	retried := 0
	for id, name := range byID {
		if name == "push.record" && byID[parents[id]] == "push.requeue" {
			retried++
		}
	}
	if retried != 1 {
		t.Errorf("%d records come from the compensator's span, want the retry message", retried)
	}
	if n := s.number(`SELECT count(*) FROM push_log WHERE trace_id = $1`, trace); n != 3 {
		t.Errorf("%d rows know the trace, want 3", n)
	}
	if !strings.Contains(log.String(), `"trace_id":"`+trace+`"`) {
		t.Errorf("no line knows the trace:\n%s", log.String())
	}
	for what, text := range map[string]string{"spans": taker.raw.String(), "log": log.String(), "metrics": metrics} {
		for _, personal := range []string{"13800000042", "oOPENID00000000000000000042"} {
			if strings.Contains(text, personal) {
				t.Errorf("the %s have %s", what, personal)
			}
		}
	}
}

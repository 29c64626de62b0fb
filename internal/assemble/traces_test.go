package assemble

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"pusher/internal/config"
	"pusher/internal/deliver"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

// receiver is a collector that takes OTLP over gRPC.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu   sync.Mutex // guards all below
	took []string   // service and span, such as "pusher push.record"
}

func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := ""
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.took = append(r.took, service+" "+s.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// overGRPC makes traces that go to addr by gRPC.
func overGRPC(t *testing.T, addr string, log zerolog.Logger) (record, end func()) {
	t.Helper()
	c := config.Default()
	c.Telemetry.Traces = config.Traces{Exporter: "otlp", Protocol: config.ProtocolGRPC, Endpoint: "http://" + addr, Sample: 1}
	traces, err := Traces(t.Context(), c, log, "pusher", "v1")
	if err != nil {
		t.Fatal(err)
	}
	record = func() {
		traces.Record(push.Origin{Topic: "push-events"}, &push.Event{BizType: "resume_viewed"}).End(deliver.Facts{})
	}
	return record, func() { traces.Close(context.WithoutCancel(t.Context())) }
}

func TestTracesGoOverGRPC(t *testing.T) {
	t.Parallel()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, r := grpc.NewServer(), new(receiver)
	collector.RegisterTraceServiceServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(door) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	var log testbed.Log
	record, end := overGRPC(t, door.Addr().String(), zerolog.New(&log))
	record()
	record()
	end()
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := strings.Join(r.took, ", "); got != "pusher push.record, pusher push.record" || log.String() != "" {
		t.Errorf("the collector took %q; the log says %q", got, log.String())
	}
}

// A collector that is away by gRPC costs the spans, and says so: it neither fails the start nor holds up the end.
func TestTracesOverGRPCWithoutCollectorAreLostAndToldOf(t *testing.T) {
	t.Parallel()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := door.Addr().String()
	_ = door.Close()
	var log testbed.Log
	record, end := overGRPC(t, addr, zerolog.New(&log))
	record()
	began := time.Now()
	end()
	if took := time.Since(began); took > 10*time.Second || !strings.Contains(log.String(), "spans are not taken by the collector, and lost") {
		t.Errorf("ended after %s; the log says %q", took, log.String())
	}
}

package tracing

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"pusher/internal/deliver"
	"pusher/internal/push"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	theTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	kept     = "00-" + theTrace + "-00f067aa0ba902b7-01"
	unkept   = "00-" + theTrace + "-00f067aa0ba902b7-00"
)

// open traces into memory; spans closes it and returns what was exported, by name.
func open(t *testing.T, sample float64) (traces *Traces, spans func() map[string]tracetest.SpanStub) {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	traces, err := Open(t.Context(), Config{
		Service: "pusher", Version: "v1", Instance: "host/1", Sample: sample, Exporter: lasting{memory}, Failed: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { traces.Close(context.Background()) })
	return traces, func() map[string]tracetest.SpanStub {
		if err := traces.provider.ForceFlush(context.Background()); err != nil {
			t.Fatal(err)
		}
		found := map[string]tracetest.SpanStub{}
		for _, s := range memory.GetSpans() {
			found[s.Name] = s
		}
		return found
	}
}

// lasting keeps what was exported when the provider shuts down.
type lasting struct{ *tracetest.InMemoryExporter }

func (lasting) Shutdown(context.Context) error { return nil }

// said is what a span says, as text.
func said(s tracetest.SpanStub) string {
	var b strings.Builder
	for _, a := range s.Attributes {
		b.WriteString(string(a.Key) + "=" + a.Value.String() + " ")
	}
	return b.String()
}

func TestADeliveryIsPartOfTheTraceOfItsEvent(t *testing.T) {
	t.Parallel()
	traces, spans := open(t, 0) // new traces are not kept, this one is: its producer says so
	event := &push.Event{BizType: "resume_viewed", BizID: "10248", TraceParent: kept}
	record := traces.Record(push.Origin{Topic: "push-events", Partition: 3, Offset: 42}, event)
	if event.TraceID() != theTrace || event.TraceParent == kept {
		t.Errorf("the event goes on as %s, want another span of the same trace", event.TraceParent)
	}
	delivery := record.Part("delivery")
	claim := delivery.Part("claim")
	batch := traces.Batch("claim", []deliver.Span{claim})
	batch.End(deliver.Facts{})
	claim.End(deliver.Facts{Outcome: "granted"})
	delivery.Part("send").End(deliver.Facts{Provider: "aliyun", Outcome: "ambiguous", Code: "timeout", Err: errors.New("to +8613800138000")})
	delivery.End(deliver.Facts{Delivery: &push.Delivery{Identity: push.Identity{BizType: "resume_viewed", Action: push.SMS}}, Attempt: 1, Outcome: "unknown"})
	record.End(deliver.Facts{})
	got := spans()
	chain := map[string]string{"push.delivery": "push.record", "push.claim": "push.delivery", "push.send": "push.delivery"}
	for child, parent := range chain {
		if got[child].Parent.SpanID() != got[parent].SpanContext.SpanID() || got[child].SpanContext.TraceID().String() != theTrace {
			t.Errorf("%s is no part of %s: %+v", child, parent, got[child].Parent)
		}
	}
	if from := got["push.record"].Parent; from.SpanID().String() != "00f067aa0ba902b7" || !from.IsRemote() {
		t.Errorf("the record's parent is %+v", from)
	}
	if links := got["batch claim"].Links; len(links) != 1 || links[0].SpanContext.SpanID() != got["push.claim"].SpanContext.SpanID() {
		t.Errorf("the batch is linked with %+v", links)
	}
	if s := got["push.send"]; s.SpanKind != trace.SpanKindClient || said(s) != "push.provider=aliyun push.outcome=ambiguous push.code=timeout error.type=*errors.errorString " {
		t.Errorf("the request says %s", said(s))
	}
	for name, s := range got {
		if text := said(s) + s.Status.Description; strings.Contains(text, "138001") {
			t.Errorf("%s says %s", name, text)
		}
	}
}

func TestATraceThatIsNotKeptCostsNothingAndKeepsItsName(t *testing.T) {
	t.Parallel()
	traces, spans := open(t, 1)
	event := &push.Event{TraceParent: unkept}
	if s := traces.Record(push.Origin{}, event); s != nil || event.TraceID() != theTrace || !strings.HasSuffix(event.TraceParent, "-00") {
		t.Errorf("got %v, and the event goes on as %s", s, event.TraceParent)
	}
	if got := spans(); len(got) != 0 {
		t.Errorf("exported %v", got)
	}
}

func TestAnEventWithoutTraceBeginsOne(t *testing.T) {
	t.Parallel()
	traces, spans := open(t, 1)
	event := &push.Event{}
	traces.Record(push.Origin{}, event).End(deliver.Facts{Err: context.DeadlineExceeded})
	s := spans()["push.record"]
	if event.TraceID() == "" || s.SpanContext.TraceID().String() != event.TraceID() || !strings.Contains(said(s), "error.type=timeout") {
		t.Errorf("the event is of %q, the span %+v", event.TraceID(), s)
	}
}

func TestARetryMessageIsTheSpanThatItsHeaderNames(t *testing.T) {
	t.Parallel()
	traces, spans := open(t, 1)
	poke := push.Poke{
		Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: push.SMS},
		Round:    1, Attempt: 2, TraceID: theTrace, Event: []byte(`{"biz_type":"resume_viewed","biz_id":10248}`), Recipient: "+8613800138000",
	}
	record, err := poke.Record("retry")
	if err != nil {
		t.Fatal(err)
	}
	header, _ := record.Header(push.HeaderTraceParent)
	traces.Published([]push.Poke{poke, {}}, time.Now())
	s := spans()["push.requeue"]
	if traceParent(s.SpanContext) != header || s.SpanKind != trace.SpanKindProducer || strings.Contains(said(s), "138001") {
		t.Errorf("the span is %s, the header %s: %s", traceParent(s.SpanContext), header, said(s))
	}
	event := &push.Event{TraceParent: header}
	traces.Record(push.Origin{}, event).End(deliver.Facts{})
	if got := spans()["push.record"]; got.Parent.SpanID() != s.SpanContext.SpanID() {
		t.Error("what becomes of the retry message is no child of it")
	}
}

func TestACollectorThatIsAwayIsToldOfAndHoldsNothingUp(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	traces, err := Open(t.Context(), Config{Sample: 1, Exporter: away{&tracetest.NoopExporter{}}, Failed: func(error) { told.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	traces.Record(push.Origin{}, &push.Event{}).End(deliver.Facts{})
	if traces.Close(t.Context()); told.Load() == 0 {
		t.Error("nobody was told")
	}
}

// away is a collector that takes nothing.
type away struct{ *tracetest.NoopExporter }

func (away) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	return errors.New("connection refused")
}

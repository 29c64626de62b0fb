package tracing

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"pusher/internal/deliver"
	"pusher/internal/push"
)

// Config says who traces, and where to.
type Config struct {
	Service  string // "pusher" or "compensator"; OTEL_SERVICE_NAME wins
	Version  string
	Instance string  // host and process
	Sample   float64 // share of new traces that are kept, 0 to 1

	Exporter sdk.SpanExporter
	Failed   func(error) // told when spans could not be exported; safe for concurrent use
}

// Traces makes spans. It is a deliver.Tracer and a compensate.Tracer, safe for concurrent use. Close it in the end.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter sdk.SpanExporter
	failed   func(error)
}

// closeMost is how long spans that are left may take at the end: a collector that is away must not cost the others that
// close their time.
const closeMost = 3 * time.Second

// Open begins to trace. An error is one of OTEL_RESOURCE_ATTRIBUTES.
func Open(ctx context.Context, cfg Config) (*Traces, error) {
	who, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", cfg.Service), attribute.String("service.version", cfg.Version),
		attribute.String("service.instance.id", cfg.Instance),
	), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing this process for its traces: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithResource(who), sdk.WithIDGenerator(ids{}),
		sdk.WithSampler(linked{sdk.ParentBased(sdk.TraceIDRatioBased(cfg.Sample))}),
		sdk.WithBatcher(heard{cfg.Exporter, cfg.Failed}),
	)
	return &Traces{provider: provider, tracer: provider.Tracer("pusher"), exporter: cfg.Exporter, failed: cfg.Failed}, nil
}

// Close exports what is left, for closeMost or until ctx ends. What the collector has not taken by then is told of and lost:
// that is no failure of the program, whose work is done.
func (t *Traces) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeMost)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.failed(err)
		_ = t.exporter.Shutdown(ctx) // whose time is over: it gives up what it still tries
	}
}

// Record begins the span of a record and names it in the event. It is nil for a trace that is not kept.
func (t *Traces) Record(r push.Origin, event *push.Event) deliver.Span {
	ctx, s := t.tracer.Start(parent(event.TraceParent), "push.record", trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			attribute.String("messaging.system", "kafka"), attribute.String("messaging.destination.name", r.Topic),
			attribute.Int("messaging.destination.partition.id", r.Partition), attribute.Int64("messaging.kafka.offset", r.Offset),
			attribute.String("push.biz_type", event.BizType),
		))
	event.TraceParent = traceParent(s.SpanContext())
	if !s.IsRecording() {
		return nil
	}
	return span{t, ctx, s}
}

// Batch begins the span of one call for many deliveries.
func (t *Traces) Batch(stage string, of []deliver.Span) deliver.Span {
	links := make([]trace.Link, 0, len(of))
	for _, one := range of {
		if s, ok := one.(span); ok {
			links = append(links, trace.Link{SpanContext: s.own.SpanContext()})
		}
	}
	//nolint:spancheck // its own End ends it
	ctx, s := t.tracer.Start(context.Background(), "batch "+stage, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithLinks(links...), trace.WithAttributes(attribute.Int("push.batch.size", len(of))))
	return span{t, ctx, s} //nolint:spancheck // likewise
}

// Published makes the span of each retry message: in the trace of its event, under the id that its header names.
func (t *Traces) Published(pokes []push.Poke, began time.Time) {
	for _, p := range pokes {
		named := trace.SpanContextFromContext(parent(p.TraceParent()))
		if !named.IsValid() {
			continue
		}
		ctx := context.WithValue(context.Background(), wanted{}, named)
		_, s := t.tracer.Start(ctx, "push.requeue", trace.WithSpanKind(trace.SpanKindProducer), trace.WithTimestamp(began),
			trace.WithAttributes(
				attribute.String("push.biz_type", p.BizType), attribute.String("push.action", string(p.Action)),
				attribute.Int("push.round", p.Round), attribute.Int("push.attempt", p.Attempt),
			))
		s.End()
	}
}

package tracing

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// wanted is the key of the trace and span id that a span is to have.
type wanted struct{}

// ids gives a span the ids that its context wants, else new ones. A retry message names its span before there is one: by
// the attempt, so that a message written twice is one span.
type ids struct{}

// NewIDs are those of a span without parent.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if named, ok := ctx.Value(wanted{}).(trace.SpanContext); ok {
		return named.TraceID(), named.SpanID()
	}
	var id trace.TraceID
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64()|1) // never all zero, which means none
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return id, newSpan()
}

// NewSpanID is that of a span with a parent.
func (ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return newSpan() }

func newSpan() trace.SpanID {
	var id trace.SpanID
	binary.NativeEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}

// linked keeps a span that is linked with one that is kept, as a batch is with the traces that it carried, and one whose
// own name was given away as kept: the header of a retry message.
type linked struct{ sdk.Sampler }

// ShouldSample decides by name and links first.
func (l linked) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	if named, ok := p.ParentContext.Value(wanted{}).(trace.SpanContext); ok && named.IsSampled() {
		return sdk.SamplingResult{Decision: sdk.RecordAndSample}
	}
	for _, link := range p.Links {
		if link.SpanContext.IsSampled() {
			return sdk.SamplingResult{Decision: sdk.RecordAndSample}
		}
	}
	return l.Sampler.ShouldSample(p)
}

// heard exports, and tells what fails to whoever logs here: OpenTelemetry would write it past the log.
type heard struct {
	sdk.SpanExporter

	failed func(error)
}

// ExportSpans exports; what fails is gone.
func (h heard) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := h.SpanExporter.ExportSpans(ctx, spans); err != nil {
		h.failed(err)
	}
	return nil
}

// parent is the context of a traceparent; without one, of nothing.
func parent(text string) context.Context {
	return propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
}

// traceParent is the header that names a span.
func traceParent(s trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), s), carrier)
	return carrier["traceparent"]
}

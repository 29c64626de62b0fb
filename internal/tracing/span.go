package tracing

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"pusher/internal/deliver"
)

// span is one piece of work; a request at a provider is a client's.
type span struct {
	traces *Traces
	ctx    context.Context //nolint:containedctx // only carries the span for its parts
	own    trace.Span
}

// Part begins a span inside this one.
func (s span) Part(stage string) deliver.Span {
	kind := trace.SpanKindInternal
	if stage == "send" {
		kind = trace.SpanKindClient
	}
	ctx, own := s.traces.tracer.Start(s.ctx, "push."+stage, trace.WithSpanKind(kind)) //nolint:spancheck // its own End ends it
	return span{s.traces, ctx, own}                                                   //nolint:spancheck // likewise
}

// End says what came of it. An error is named by its type only: its words may quote what is personal.
func (s span) End(f deliver.Facts) {
	var said []attribute.KeyValue
	text := func(name, value string) {
		if value != "" {
			said = append(said, attribute.String(name, value))
		}
	}
	if f.Delivery != nil {
		text("push.biz_type", f.Delivery.BizType)
		text("push.action", string(f.Delivery.Action))
	}
	text("push.provider", f.Provider)
	text("push.outcome", f.Outcome)
	text("push.code", f.Code)
	if f.Attempt > 0 {
		said = append(said, attribute.Int("push.attempt", f.Attempt))
	}
	if f.Round > 0 {
		said = append(said, attribute.Int("push.round", f.Round))
	}
	if f.Err != nil {
		text("error.type", kindOf(f.Err))
		s.own.SetStatus(codes.Error, "")
	}
	s.own.SetAttributes(said...)
	s.own.End()
}

// kindOf names an error's innermost type, or the end of a context.
func kindOf(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, deliver.ErrKept):
		return "kept"
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

package assemble

import (
	"context"
	"fmt"
	"net/url"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"pusher/internal/config"
	"pusher/internal/telemetry"
	"pusher/internal/tracing"
)

// Traces begins to trace, where the configuration asks for it; else it is nil. Close it in the end. Whether the collector
// answers is not asked: spans that it does not take are told of in the log, and lost.
func Traces(ctx context.Context, c *config.Config, log zerolog.Logger, service, version string) (*tracing.Traces, error) {
	t := c.Telemetry.Traces
	if !t.On() {
		return nil, nil
	}
	exporter, err := exporter(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("reading telemetry.traces: %w", err)
	}
	quiet := telemetry.Repeats(log)
	return tracing.Open(ctx, tracing.Config{
		Service: service, Version: version, Instance: workerName(), Sample: t.Sample, Exporter: exporter,
		Failed: func(err error) { quiet.Warn().Err(err).Msg("spans are not taken by the collector, and lost") },
	})
}

// exporter speaks OTLP. An endpoint that is not configured is OpenTelemetry's own affair.
func exporter(ctx context.Context, t config.Traces) (sdk.SpanExporter, error) {
	if t.Protocol == config.ProtocolGRPC {
		var options []otlptracegrpc.Option
		if t.Endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(t.Endpoint))
		}
		return otlptracegrpc.New(ctx, options...)
	}
	var options []otlptracehttp.Option
	if t.Endpoint != "" {
		path, err := url.JoinPath(t.Endpoint, "v1", "traces")
		if err != nil {
			return nil, err
		}
		options = append(options, otlptracehttp.WithEndpointURL(path))
	}
	return otlptracehttp.New(ctx, options...)
}

// trace begins to trace; what is left is exported when the pusher closes.
func (p *Pusher) trace(ctx context.Context) error {
	traces, err := Traces(ctx, p.cfg, p.log, "pusher", p.version)
	if err != nil || traces == nil {
		return err
	}
	p.tracer = traces
	p.closers.add("traces", func(ctx context.Context) error { traces.Close(ctx); return nil })
	return nil
}

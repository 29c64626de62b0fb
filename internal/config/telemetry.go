package config

import "strings"

// The values of telemetry.traces.
const (
	ExporterOTLP = "otlp" // exporter
	ExporterNone = "none" // exporter: no traces

	ProtocolHTTP = "http/protobuf"
	ProtocolGRPC = "grpc"
)

// Telemetry is what the programs tell of themselves, beside the log and /metrics.
type Telemetry struct {
	Textfile string `yaml:"textfile"` // the compensator writes its metrics there after each pass; ends in .prom
	Traces   Traces `yaml:"traces"`
}

// Traces is where spans go. What is empty is taken from OpenTelemetry's own variables; those that have no key here, such
// as OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES, always count.
type Traces struct {
	Exporter string  `yaml:"exporter"` // otlp or none; empty: OTEL_TRACES_EXPORTER's, else none
	Protocol string  `yaml:"protocol"` // http/protobuf or grpc; empty: OTEL_EXPORTER_OTLP_PROTOCOL's, else http/protobuf
	Endpoint string  `yaml:"endpoint"` // base URL of the collector; empty: OTEL_EXPORTER_OTLP_ENDPOINT's, else this machine
	Sample   float64 `yaml:"sample"`   // share of new traces that are kept; a trace that came with its event keeps its own word [1]
}

// On reports whether there are traces at all.
func (t Traces) On() bool { return t.Exporter == ExporterOTLP }

// standard fills in from OpenTelemetry's variables what nobody configured.
func (t Traces) standard(lookup Lookup) Traces {
	t.Exporter = first(t.Exporter, lookup, "OTEL_TRACES_EXPORTER")
	t.Protocol = first(t.Protocol, lookup, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	if off, _ := lookup("OTEL_SDK_DISABLED"); strings.EqualFold(off, "true") {
		t.Exporter = ExporterNone
	}
	return t
}

// first is the value, else that of the first variable that is set.
func first(value string, lookup Lookup, variables ...string) string {
	for _, name := range variables {
		if value == "" {
			value, _ = lookup(name)
		}
	}
	return value
}

// validate checks the fixed choices.
func (t Telemetry) validate(v *validator) {
	v.checkf(t.Textfile == "" || strings.HasSuffix(t.Textfile, ".prom"), "telemetry.textfile",
		"%q does not end in .prom: node_exporter reads no other files", t.Textfile)
	v.one("telemetry.traces.exporter", t.Traces.Exporter, "", ExporterOTLP, ExporterNone)
	v.one("telemetry.traces.protocol", t.Traces.Protocol, "", ProtocolHTTP, ProtocolGRPC)
	v.baseURL("telemetry.traces.endpoint", t.Traces.Endpoint)
	v.checkf(t.Traces.Sample >= 0 && t.Traces.Sample <= 1, "telemetry.traces.sample", "is %v: must be 0 to 1", t.Traces.Sample)
}

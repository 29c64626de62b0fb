package config

import (
	"strings"
	"testing"
)

func TestTracesAreOffUnlessSomebodyAsksForThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env      []string
		on       bool
		protocol string
	}{
		"nobody":              {nil, false, ""},
		"OpenTelemetry's":     {[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, true, ProtocolGRPC},
		"ours":                {[]string{"PUSHER_TELEMETRY_TRACES_EXPORTER=otlp"}, true, ""},
		"ours wins":           {[]string{"PUSHER_TELEMETRY_TRACES_EXPORTER=none", "OTEL_TRACES_EXPORTER=otlp"}, false, ""},
		"of traces first":     {[]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, false, ProtocolGRPC},
		"the SDK is disabled": {[]string{"PUSHER_TELEMETRY_TRACES_EXPORTER=otlp", "OTEL_SDK_DISABLED=TRUE"}, false, ""},
	} {
		got, _, err := Load("", environment(c.env...), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if traces := got.Telemetry.Traces; traces.On() != c.on || traces.Protocol != c.protocol {
			t.Errorf("%s: got %+v, want on %t by %s", name, traces, c.on, c.protocol)
		}
	}
}

func TestTelemetryProblemsNameTheKey(t *testing.T) {
	t.Parallel()
	for env, says := range map[string]string{
		"PUSHER_TELEMETRY_TEXTFILE=/var/lib/x.txt":     "telemetry.textfile",
		"PUSHER_TELEMETRY_TRACES_EXPORTER=zipkin":      "telemetry.traces.exporter",
		"PUSHER_TELEMETRY_TRACES_PROTOCOL=http/json":   "telemetry.traces.protocol",
		"PUSHER_TELEMETRY_TRACES_ENDPOINT=collector:1": "telemetry.traces.endpoint",
		"PUSHER_TELEMETRY_TRACES_SAMPLE=1.5":           "telemetry.traces.sample",
	} {
		if _, _, err := Load("", environment(env), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want a word about %s", env, err, says)
		}
	}
}

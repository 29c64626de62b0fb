package telemetry

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"
)

func TestLogIsJSONWithTimeAndLevel(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLog(&out, "info")
	if err != nil {
		t.Fatal(err)
	}
	log.Debug().Msg("not told")
	log.Info().Str(FieldAction, "sms").Msg("told")
	var line map[string]string
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	at, err := time.Parse(time.RFC3339, line["time"])
	if err != nil || time.Since(at) > time.Minute {
		t.Errorf("time %q: %v", line["time"], err)
	}
	if line["level"] != "info" || line["message"] != "told" || line["action"] != "sms" {
		t.Errorf("got %v", line)
	}
}

func TestLogRefusesAnUnknownLevel(t *testing.T) {
	t.Parallel()
	if _, err := NewLog(&bytes.Buffer{}, "loud"); err == nil {
		t.Error("took it")
	}
}

func TestOnlyATerminalIsATerminal(t *testing.T) {
	t.Parallel()
	file, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if Terminal(&bytes.Buffer{}) || Terminal(file) {
		t.Error("a buffer or a file is taken for a terminal")
	}
}

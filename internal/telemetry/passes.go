package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pusher/internal/push"
)

// Pass is one pass of the compensator, as its metrics tell it.
type Pass struct {
	push.Tally

	Began, Ended time.Time
	Completed    bool // it did all that was due, or as much as its budget allowed
	Unfinished   bool // its budget ended first
}

// The names of what outlives a pass.
const (
	runsName        = "pusher_compensator_passes_total"
	compensatedName = "pusher_compensated_total"
	successName     = "pusher_compensator_last_success_timestamp_seconds"
)

// passes are the metrics of a compensator: a process that ends with each pass. What was counted before is read back
// from the file that the pass before wrote.
type passes struct {
	registry    *prometheus.Registry
	passes      *prometheus.CounterVec // result
	compensated *prometheus.CounterVec // step
	held        prometheus.Gauge
	began, took prometheus.Gauge
	unfinished  prometheus.Gauge
	success     prometheus.Gauge
}

func newPasses() *passes {
	single := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	p := &passes{
		registry:    prometheus.NewRegistry(),
		passes:      counter("compensator_passes_total", "Passes of the compensator, by how they ended.", "result"),
		compensated: counter("compensated_total", "Deliveries, keys and receipts that the compensator moved, by step.", "step"),
		held:        single("pusher_compensator_held_deliveries", "Unknown deliveries that wait for an operator, at the last pass."),
		began:       single("pusher_compensator_last_pass_timestamp_seconds", "When the last pass ended, Unix time."),
		took:        single("pusher_compensator_last_pass_duration_seconds", "How long the last pass took."),
		unfinished:  single("pusher_compensator_last_pass_unfinished", "1 if the last pass ran out of its budget."),
		success:     single(successName, "When a pass last completed, Unix time; 0: never."),
	}
	p.registry.MustRegister(p.passes, p.compensated, p.held, p.began, p.took, p.unfinished, p.success)
	for _, result := range []string{"completed", "failed"} {
		p.passes.WithLabelValues(result)
	}
	return p
}

// WritePass writes the metrics of a pass to the file at path, for node_exporter's textfile collector: whole, or not at
// all. The counters go on from those in the file; a file that cannot be read is begun anew.
func WritePass(path string, pass Pass) error {
	p := newPasses()
	p.restore(path)
	p.note(pass)
	families, err := p.registry.Gather()
	if err != nil {
		return fmt.Errorf("gathering the counts of a pass: %w", err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return fmt.Errorf("writing the counts of a pass: %w", err)
		}
	}
	return replace(path, text.Bytes())
}

// note takes the pass in.
func (p *passes) note(pass Pass) {
	result := "failed"
	if pass.Completed {
		result = "completed"
		p.success.Set(unix(pass.Ended))
	}
	p.passes.WithLabelValues(result).Inc()
	for step, n := range steps(pass.Tally) {
		p.compensated.WithLabelValues(step).Add(float64(n))
	}
	p.held.Set(float64(pass.Held))
	p.began.Set(unix(pass.Ended))
	p.took.Set(pass.Ended.Sub(pass.Began).Seconds())
	p.unfinished.Set(one(pass.Unfinished))
}

// steps are the counts that add up from pass to pass, by the names of `compensator --json`.
func steps(t push.Tally) map[string]int {
	return map[string]int{
		"requeued": t.Requeued, "republished": t.Republished, "swept_queued": t.SweptQueued,
		"swept_unknown": t.SweptUnknown, "swept_dead": t.SweptDead, "repeated": t.Repeated, "asked": t.Asked,
		"found": t.Found, "resent": t.Resent, "dead": t.Dead, "expired": t.Expired, "unknown": t.Doubted,
		"unknown_expired": t.UnknownExpired, "letters": t.Letters,
		"keys_checked": t.KeysChecked, "keys_repaired": t.KeysRepaired,
		"receipts": t.Receipts, "receipts_dropped": t.ReceiptsDropped, "hours_counted": t.HoursCounted,
		"pruned": t.Pruned, "messages_pruned": t.MessagesPruned,
	}
}

// restore reads what the passes before left in the file.
func (p *passes) restore(path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return
	}
	known := steps(push.Tally{})
	for name, family := range families {
		for _, m := range family.GetMetric() {
			switch name {
			case runsName:
				if result := labelOf(m, "result"); result == "completed" || result == "failed" {
					p.passes.WithLabelValues(result).Add(counted(m))
				}
			case compensatedName:
				if _, ok := known[labelOf(m, "step")]; ok {
					p.compensated.WithLabelValues(labelOf(m, "step")).Add(counted(m))
				}
			case successName:
				p.success.Set(m.GetGauge().GetValue())
			}
		}
	}
}

// counted is a counter's value; what is none, or was tampered with, counts as nothing.
func counted(m *dto.Metric) float64 {
	if v := m.GetCounter().GetValue(); v > 0 {
		return v
	}
	return 0
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// unix is a time in seconds.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// replace puts text in place of the file at path, which is readable by all: node_exporter is somebody else. The
// collector reads *.prom only, so it never sees the file that is being written.
func replace(path string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("writing the textfile: %w", err)
	}
	defer func() {
		if gone := os.Remove(f.Name()); err == nil && !errors.Is(gone, fs.ErrNotExist) {
			err = gone
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing the textfile: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("writing the textfile: %w", err)
	}
	return nil
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"pusher/internal/sandbox/local"
)

// row is one line of the table.
type row struct {
	stage  string
	what   string
	figure string
	target string // empty: a reference, or a figure without target
	met    bool
}

// notef is a figure without a target.
func (b *bench) notef(stage, what, format string, args ...any) {
	b.add(row{stage: stage, what: what, figure: fmt.Sprintf(format, args...)})
}

// held is a figure beside its target.
func (b *bench) held(stage, what, figure, target string, met bool) {
	b.add(row{stage: stage, what: what, figure: figure, target: target, met: met})
}

func (b *bench) add(r row) {
	b.rows = append(b.rows, r)
	b.sayf("%-12s %-62s %18s  %s", r.stage, r.what, r.figure, r.verdict())
}

// verdict is the target and whether it is met.
func (r row) verdict() string {
	switch {
	case r.target == "":
		return ""
	case r.met:
		return r.target + ": met"
	}
	return r.target + ": missed"
}

// table is the rows in Markdown.
func table(rows []row) string {
	var t strings.Builder
	t.WriteString("| stage | what | figure | target | met |\n|---|---|---:|---|---|\n")
	for _, r := range rows {
		met := ""
		if r.target != "" {
			met = "no"
			if r.met {
				met = "yes"
			}
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s |\n", r.stage, r.what, r.figure, r.target, met)
	}
	return t.String()
}

const preface = `# What it does in a second

Written by ` + "`make bench`" + ` (%s, %v). Kafka, Redis, PostgreSQL and the pusher shared one machine: %s.
Figures therefore count as ratios of this run, not as what a service alone could do.

The pusher is the real one, in a process of its own; its provider is a function in that process (internal/bench). The
references run in the same stage on the same events: the *frameless loop* reads in batches of 300 and calls the very same
scripts and statements, without leases, watermark or any care for one delivery apart from its batch; the *tutorial
worker* takes one message at a time. Of each run the first and last twentieth are left out.

![deliveries a second](%s)

`

// publish prints the table, and writes it with its chart.
func (b *bench) publish(file string, took time.Duration) error {
	text := table(b.rows)
	b.sayf("\n%s", text)
	if file == "" {
		return nil
	}
	chart := strings.TrimSuffix(file, ".md") + ".svg"
	head := fmt.Sprintf(preface, time.Now().Format("2006-01-02"), took.Round(time.Second), b.machine(), chart[strings.LastIndexByte(chart, '/')+1:])
	return errors.Join(
		os.WriteFile(file, []byte(head+text), 0o644), //nolint:gosec // a document
		os.WriteFile(chart, drawn(b.bars()), 0o644))  //nolint:gosec // likewise
}

// machine says on what it ran.
func (b *bench) machine() string {
	model := "an unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	versions := make([]string, 0, 3)
	for _, s := range []*local.Server{b.kafka, b.redis, b.postgres} {
		versions = append(versions, s.Name+" "+s.Version)
	}
	kernel, _ := exec.CommandContext(context.Background(), "uname", "-s").Output()
	return fmt.Sprintf("%d processors (%s), %s, %s, %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)),
		runtime.Version(), strings.Join(versions, ", "))
}

package telemetry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pusher/internal/push"
)

func TestCountsGoOnFromPassToPass(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pusher.prom")
	began := time.Unix(1_700_000_000, 0)
	for i, pass := range []Pass{
		{Tally: push.Tally{Requeued: 3, Held: 2}, Completed: true},
		{Tally: push.Tally{Requeued: 4, KeysRepaired: 1}, Completed: false, Unfinished: true},
	} {
		pass.Began = began.Add(time.Duration(i) * time.Minute)
		pass.Ended = pass.Began.Add(1500 * time.Millisecond)
		if err := WritePass(path, pass); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`pusher_compensated_total{step="requeued"} 7`, `pusher_compensated_total{step="keys_repaired"} 1`,
		`pusher_compensated_total{step="letters"} 0`,
		`pusher_compensator_passes_total{result="completed"} 1`, `pusher_compensator_passes_total{result="failed"} 1`,
		`pusher_compensator_last_success_timestamp_seconds 1.7000000015e+09`,
		`pusher_compensator_last_pass_timestamp_seconds 1.7000000615e+09`,
		`pusher_compensator_last_pass_duration_seconds 1.5`,
		`pusher_compensator_held_deliveries 0`, `pusher_compensator_last_pass_unfinished 1`,
	} {
		if !strings.Contains(string(text), want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 || len(left) > 0 {
		t.Errorf("mode %v, left behind %v, %v", info.Mode(), left, err)
	}
}

func TestTextfileThatCannotBeReadIsBegunAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pusher.prom")
	for _, broken := range []string{
		"\x00\xff not a metric", `pusher_compensated_total{step="requeued"} -5` + "\n",
		`pusher_compensated_total{step="13800138000"} 5` + "\n",
	} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := WritePass(path, Pass{Tally: push.Tally{Requeued: 1}}); err != nil {
			t.Errorf("%q: %v", broken, err)
		}
		text, _ := os.ReadFile(path)
		if !strings.Contains(string(text), `step="requeued"} 1`) || strings.Contains(string(text), "13800138000") {
			t.Errorf("after %q:\n%s", broken, text)
		}
	}
}

func TestTextfileWithoutAFolderIsAnError(t *testing.T) {
	t.Parallel()
	if err := WritePass(filepath.Join(t.TempDir(), "nowhere", "pusher.prom"), Pass{}); err == nil {
		t.Error("no error")
	}
}

func TestPassMetricsFollowPrometheusNaming(t *testing.T) {
	t.Parallel()
	p := newPasses()
	p.note(Pass{Tally: push.Tally{Requeued: 1}, Completed: true})
	problems, err := testutil.GatherAndLint(p.registry)
	if err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

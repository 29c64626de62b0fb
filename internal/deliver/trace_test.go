package deliver

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"pusher/internal/push"
)

// tree is a Tracer that keeps the names of what it saw, each with its parents'.
type tree struct {
	mu    sync.Mutex // guards all below
	ended []string   // "record/delivery/claim granted"
	links []string   // "claim 1"
}

// branch is one Span of a tree.
type branch struct {
	of   *tree
	path string
}

func (t *tree) Record(_ push.Origin, event *push.Event) Span {
	event.TraceParent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	return branch{t, "record"}
}

func (t *tree) Batch(stage string, of []Span) Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range of {
		t.links = append(t.links, stage)
	}
	return branch{t, "batch " + stage}
}

func (b branch) Part(stage string) Span { return branch{b.of, b.path + "/" + stage} }

func (b branch) End(f Facts) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.of.ended = append(b.of.ended, strings.TrimSpace(b.path+" "+f.Outcome))
}

func TestEveryStageOfADeliveryIsASpan(t *testing.T) {
	t.Parallel()
	w, seen := newWorld(), &tree{}
	cfg := w.config()
	cfg.Tracer = seen
	if err := handle(t, w.start(t, cfg), "sms"); err != nil {
		t.Fatal(err)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, want := range []string{
		"record", "record/delivery sent", "record/delivery/claim granted", "record/delivery/intent sending",
		"record/delivery/send accepted", "record/delivery/result sent", "record/delivery/settle",
	} {
		if !slices.Contains(seen.ended, want) {
			t.Errorf("no span %q among %q", want, seen.ended)
		}
	}
	for _, stage := range []string{"claim", "intent", "result", "settle"} {
		if !slices.Contains(seen.links, stage) {
			t.Errorf("the batch %s is linked with nothing: %q", stage, seen.links)
		}
	}
}

// TestTracingIsFreeWhenOff: what the hot path does for a tracer that is not there.
//
//nolint:paralleltest // allocations are counted in the whole process
func TestTracingIsFreeWhenOff(t *testing.T) {
	if n := testing.AllocsPerRun(1000, untraced); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTracingOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		untraced()
	}
}

// untraced is every step of a traced delivery, with nobody who looks.
func untraced() {
	d := &Deliverer{}
	record := d.traced(push.Record{}, nil)
	delivery := record.part("delivery")
	for _, stage := range []string{"claim", "intent", "send", "result", "settle"} {
		delivery.part(stage).end(Facts{Outcome: "sent"})
	}
	batched[push.Claim, push.Grant](nil, "claim", nil).end(Facts{})
	delivery.end(Facts{})
	record.end(Facts{})
}

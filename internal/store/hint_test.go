package store_test

import (
	"strings"
	"testing"

	"pusher/internal/push"
)

// A hint is of one attempt in doubt: shown while it is the current one, gone with it.
func TestQ5HintsAreKeptOfAttemptsInDoubt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	doubtful := r.record(t, r.intend(t, "w1"), push.Ambiguous)
	refused := r.record(t, r.intend(t, "w1", about("refused")), push.NotSent)
	hints := []push.Hint{
		{ID: doubtful.ID, Attempt: 1, Text: "perhaps\x00"}, {ID: refused.ID, Attempt: 1, Text: "perhaps"},
		{ID: doubtful.ID + 100, Attempt: 1, Text: "of no row"},
	}
	for range 2 {
		if err := r.Hint(t.Context(), hints); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[int64]string{doubtful.ID: "perhaps", refused.ID: ""} {
		entry, _, err := r.Show(t.Context(), id)
		if err != nil || entry.Hint != want {
			t.Errorf("delivery %d shows the hint %q, want %q (%v)", id, entry.Hint, want, err)
		}
	}
	if err := r.Hint(t.Context(), []push.Hint{{ID: doubtful.ID, Attempt: 2, Text: "of another attempt"}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Hint(t.Context(), []push.Hint{{ID: doubtful.ID, Attempt: 1, Text: strings.Repeat("長", 2000)}}); err != nil {
		t.Fatal(err)
	}
	r.must(t, doubtful.ID, "500 unknown 1", "length(hint), status, attempt")
	r.queue(t, doubtful)
	r.must(t, doubtful.ID, "t", "hint IS NULL")
}

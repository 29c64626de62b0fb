package compensate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pusher/internal/push"
)

// What one pass compares: the newest changes, and what is overdue because a key may stand in its way.
const (
	keysSpan = 10 * time.Minute
	keysMost = 5000 // deliveries of each kind
)

// reconcile repairs dedup keys towards their rows: rule Q8. A Redis that does not answer is told of in the summary and
// asked no more by this pass: its keys only save work.
func (t *turn) reconcile(ctx context.Context) error {
	ids, err := t.Memory.Recent(ctx, keysMost, keysSpan, t.patience())
	if err != nil {
		return err
	}
	var unread error // what the push log did not tell
	look := func(ctx context.Context, lookups []push.Lookup) []push.Answer {
		answers := t.Memory.Look(ctx, lookups)
		for _, a := range answers {
			if a.Err != nil {
				unread = fmt.Errorf("reading rows: %w", a.Err)
			}
		}
		return answers
	}
	for some := range slices.Chunk(ids, t.Batch) {
		if ctx.Err() != nil || !t.Now().Before(t.until) {
			t.sum.Unfinished = true
			break
		}
		moved, err := t.Keys.Reconcile(ctx, some, t.Window, look)
		t.sum.Add(moved)
		if err != nil {
			t.sum.Redis = "away: " + err.Error()
			break
		}
		if unread != nil {
			return unread
		}
	}
	return nil
}

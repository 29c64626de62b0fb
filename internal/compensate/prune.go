package compensate

import (
	"context"

	"pusher/internal/push"
)

// prune deletes what has been kept for long enough: finished rows with their attempts and receipts, and in-app messages.
func (t *turn) prune(ctx context.Context) error {
	if t.Keep > 0 {
		if err := t.pruneRows(ctx); err != nil {
			return err
		}
	}
	if t.KeepInbox == 0 {
		return nil
	}
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		n, err := t.Pruner.PruneInbox(ctx, t.Batch, t.KeepInbox)
		return push.Tally{MessagesPruned: n}, err
	})
}

// pruneRows goes once through the old end of the push log. A batch of which nothing may go is not the end of it: rows
// that wait for an operator stand among the finished ones.
func (t *turn) pruneRows(ctx context.Context) error {
	var at int64
	for ctx.Err() == nil && t.Now().Before(t.until) {
		n, next, err := t.Pruner.Prune(ctx, at, t.Batch, t.Keep)
		t.sum.Add(push.Tally{Pruned: n})
		if err != nil || next == 0 {
			return err
		}
		at = next
	}
	t.sum.Unfinished = true
	return nil
}

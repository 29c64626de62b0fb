package compensate

import (
	"context"

	"pusher/internal/push"
)

// receipts brings parked receipts to their deliveries: those that came before their answer was stored, and those whose
// matching failed. They prove acceptances (rule P1), so they come before anything is given up, asked about or resent.
func (t *turn) receipts(ctx context.Context) error {
	for ctx.Err() == nil && t.Now().Before(t.until) {
		matched, looked, err := t.Receipts.MatchReceipts(ctx, t.Batch, nil)
		t.sum.Add(push.Tally{Receipts: len(matched)})
		if err != nil || looked == 0 {
			return err
		}
	}
	t.sum.Unfinished = true
	return nil
}

// dropReceipts deletes the receipts that found no delivery for too long.
func (t *turn) dropReceipts(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		n, err := t.Receipts.DropReceipts(ctx, t.Batch, t.KeepUnmatched)
		return push.Tally{ReceiptsDropped: n}, err
	})
}

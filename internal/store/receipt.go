package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// maxRaw bounds a receipt as received, in characters; its other texts are bounded as in a result.
const maxRaw = 8000

// keepReceipt stores a receipt, or counts its repeat.
const keepReceipt = `
INSERT INTO push_receipt (provider, status, provider_msg_id, reference, recipient, recipient_hash, code, message,
	reported_at, raw, digest, next_match_at)
VALUES (@provider, @status, nullif(@message_id, ''), nullif(@reference, ''), nullif(@recipient, ''), @recipient_hash,
	nullif(@code, ''), nullif(@message, ''), @reported_at, @raw, @digest,
	CASE WHEN @status <> '` + string(push.ReportUnreadable) + `' THEN now() END)
ON CONFLICT (digest) DO UPDATE SET repeats = push_receipt.repeats + 1
RETURNING id, repeats > 0`

// KeepReceipts stores receipts as they came; none is matched by it. It stores all of them or none, in one round trip,
// and answers in the order asked.
func (s *Store) KeepReceipts(ctx context.Context, receipts []push.Receipt) ([]push.Kept, error) {
	order := make([]int, len(receipts)) // by digest: two calls with the same receipts do not deadlock
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return slices.Compare(receipts[i].Digest, receipts[j].Digest) })
	kept, err := withoutConflict(ctx, func() ([]push.Kept, error) {
		kept := make([]push.Kept, len(receipts))
		var b pgx.Batch
		for _, i := range order {
			b.Queue(keepReceipt, receiptArgs(receipts[i])).QueryRow(func(row pgx.Row) error {
				return row.Scan(&kept[i].ID, &kept[i].Repeated)
			})
		}
		return kept, s.pool.SendBatch(ctx, &b).Close()
	})
	if err != nil {
		return nil, fmt.Errorf("storing receipts: %w", err)
	}
	return kept, nil
}

// receiptArgs are the arguments of keepReceipt, every text cleaned.
func receiptArgs(r push.Receipt) pgx.NamedArgs {
	return pgx.NamedArgs{
		"provider":       r.Provider,
		"status":         string(r.Report),
		"message_id":     clean(r.MessageID, maxMessageID),
		"reference":      clean(r.Reference, maxLabel),
		"recipient":      clean(r.Recipient, maxLabel),
		"recipient_hash": r.RecipientHash,
		"code":           clean(r.Code, maxErrorCode),
		"message":        clean(r.Message, maxErrorMessage),
		"reported_at":    orNull(r.ReportedAt),
		"raw":            clean(r.Raw, maxRaw),
		"digest":         r.Digest,
	}
}

// Receipts returns what providers said later of one delivery, oldest first.
func (s *Store) Receipts(ctx context.Context, deliveryID int64) ([]push.Heard, error) {
	rows, err := s.pool.Query(ctx, `
SELECT id, provider, status, coalesce(provider_msg_id, ''), coalesce(code, ''), coalesce(message, ''), effect, repeats,
	received_at, reported_at, matched_at
FROM push_receipt WHERE delivery_id = $1 ORDER BY id`, deliveryID)
	if err != nil {
		return nil, fmt.Errorf("showing the receipts of delivery %d: %w", deliveryID, err)
	}
	list, err := pgx.CollectRows(rows, func(rec pgx.CollectableRow) (push.Heard, error) {
		var r push.Heard
		var reported *time.Time
		err := rec.Scan(&r.ID, &r.Provider, &r.Report, &r.MessageID, &r.Code, &r.Message, &r.Effect, &r.Repeats,
			&r.ReceivedAt, &reported, &r.MatchedAt)
		r.ReportedAt = timeOf(reported)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("showing the receipts of delivery %d: %w", deliveryID, err)
	}
	return list, nil
}

// DropReceipts deletes at most limit receipts that have been without a delivery for longer than keep: they are of
// messages that others send by the same account, or of rows that are pruned. Matched ones go with their delivery.
func (s *Store) DropReceipts(ctx context.Context, limit int, keep time.Duration) (int, error) {
	tag, err := s.pool.Exec(ctx, `
DELETE FROM push_receipt WHERE id IN (
	SELECT id FROM push_receipt WHERE matched_at IS NULL AND received_at < now() - @keep::interval
	ORDER BY received_at LIMIT @limit FOR UPDATE SKIP LOCKED)`, pgx.NamedArgs{"limit": limit, "keep": keep})
	if err != nil {
		return 0, fmt.Errorf("deleting receipts without delivery: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// matchReceipts brings receipts to their deliveries. Its parts, in order:
//   - parked: receipts that are due, none that another call has in hand;
//   - found: the delivery of each, by the current attempt's message id, by an earlier attempt's, or by our reference.
//     A WeChat receipt names no reference, so its recipient must agree where both sides know it; one that names no
//     message either (seen in the field) is of the only message to that recipient in the minutes before;
//   - locked: that delivery as it is now, whoever just changed it;
//   - judged: what the receipt does to it. A receipt proves an acceptance (rule P1), so it settles whatever is not
//     settled yet. A failed one is of one message only: while an attempt is out it waits for that one's result, and
//     once another message was accepted, or another provider called (rule P5), that one decides. Of two in one batch for one delivery, one a turn: the
//     delivered one first;
//   - moved: the delivery, forward only: sent, then delivered or undelivered. What is settled otherwise stays: of a
//     dead delivery only an operator decides.
//
// What found nothing is looked for again after as long as it has waited, one second at least.
//
// Those of ids have a statement of their own: one plan for both would read all that are due for each that comes.
const (
	matchReceipts      = matchDue + ` ORDER BY r.next_match_at` + matchOf
	matchTheseReceipts = matchDue + ` AND r.id = ANY (@ids::int8[]) ORDER BY r.id` + matchOf

	matchDue = `
WITH parked AS (
	SELECT r.* FROM push_receipt r
	WHERE r.next_match_at <= now()`

	matchOf = ` LIMIT @limit FOR UPDATE SKIP LOCKED
), found AS (
	SELECT p.id AS receipt, c.delivery
	FROM parked p CROSS JOIN LATERAL (
		SELECT l.id AS delivery, 1 AS rank FROM push_log l
		WHERE l.provider_msg_id = p.provider_msg_id AND l.provider = p.provider
		AND (p.provider <> 'wechat' OR coalesce(l.recipient_hash = p.recipient_hash, true))
		UNION ALL
		SELECT l.id, 2 FROM push_attempt a JOIN push_log l ON l.id = a.delivery_id
		WHERE a.provider_msg_id = p.provider_msg_id AND a.provider = p.provider
		AND (p.provider <> 'wechat' OR coalesce(l.recipient_hash = p.recipient_hash, true))
		UNION ALL
		SELECT l.id, 3 FROM push_log l
		WHERE l.reference = p.reference AND l.action = 'sms' AND p.provider <> 'wechat'
		UNION ALL
		SELECT min(l.id), 4 FROM push_log l
		WHERE p.provider = 'wechat' AND p.provider_msg_id IS NULL AND l.action = 'wechat'
		AND (l.recipient_hash = p.recipient_hash AND l.status <> 'sending'
			OR l.status = 'sending' AND l.recipient_hash = p.recipient_hash)
		AND l.intent_at BETWEEN p.reported_at - interval '10 min' AND p.reported_at + interval '1 min'
		HAVING count(*) = 1
		ORDER BY rank LIMIT 1) c
), locked AS (
	SELECT l.id, l.status, l.provider, l.provider_msg_id, l.sent_at
	FROM push_log l WHERE l.id IN (SELECT delivery FROM found) ORDER BY l.id FOR NO KEY UPDATE
), judged AS (
	SELECT DISTINCT ON (l.id) p.id AS receipt, l.id AS delivery, p.status AS report, p.provider, p.provider_msg_id,
		p.code, p.message, l.status AS was, CASE
			WHEN l.status NOT IN ('sending', 'queued', 'failed', 'deferred', 'unknown', 'sent') THEN 'late'
			WHEN p.status = 'delivered' THEN 'settled'
			WHEN l.status = 'sending' THEN 'waits'
			WHEN l.provider_msg_id <> p.provider_msg_id OR l.provider <> p.provider THEN 'other_message'
			ELSE 'settled' END AS effect,
		CASE WHEN l.status = 'sent' THEN greatest(extract(epoch FROM p.received_at - l.sent_at), 0) ELSE 0 END AS waited
	FROM found f JOIN parked p ON p.id = f.receipt JOIN locked l ON l.id = f.delivery
	ORDER BY l.id, p.status = 'delivered' DESC, p.id
), moved AS (
	UPDATE push_log l SET
		status = j.report,
		sent_at = coalesce(l.sent_at, now()), settled_at = coalesce(l.settled_at, now()),
		outcome = 'accepted', finished_at = CASE WHEN j.was = 'sent' THEN l.finished_at ELSE now() END,
		provider = CASE WHEN j.was = 'sent' THEN l.provider ELSE j.provider END,
		provider_msg_id = CASE WHEN j.was = 'sent' THEN coalesce(l.provider_msg_id, j.provider_msg_id)
			ELSE coalesce(j.provider_msg_id, l.provider_msg_id) END,
		error_code = CASE WHEN j.report = 'undelivered' THEN j.code END,
		error_message = CASE WHEN j.report = 'undelivered' THEN j.message END,
		recipient_full = NULL, next_attempt_at = NULL, lease_until = NULL, updated_at = now()
	FROM judged j WHERE l.id = j.delivery AND j.effect = 'settled'
), told AS (
	UPDATE push_receipt r SET matched_at = now(), next_match_at = NULL, delivery_id = j.delivery, effect = j.effect
	FROM judged j WHERE r.id = j.receipt AND j.effect <> 'waits'
), parked_on AS (
	UPDATE push_receipt r SET next_match_at = now() + greatest(now() - r.received_at, interval '1 s')
	FROM parked p LEFT JOIN found f ON f.receipt = p.id LEFT JOIN judged j ON j.receipt = p.id
	WHERE r.id = p.id AND (f.receipt IS NULL OR j.effect = 'waits')
)
SELECT coalesce(j.delivery, 0), p.provider, p.status, coalesce(j.effect, ''), coalesce(p.code, ''), coalesce(j.waited, 0)::float8
FROM parked p LEFT JOIN judged j ON j.receipt = p.id AND j.effect <> 'waits' ORDER BY p.id`
)

// MatchReceipts brings at most limit receipts that are due to their deliveries; of ids only, unless nil. It returns
// those that found theirs, and how many it looked at: the others are due again later, but where several are about one
// delivery it takes one of them a call. So call until it looks at none.
func (s *Store) MatchReceipts(ctx context.Context, limit int, ids []int64) (matched []push.Matched, looked int, err error) {
	sql, args := matchReceipts, pgx.NamedArgs{"limit": limit}
	if ids != nil {
		sql, args["ids"] = matchTheseReceipts, ids
	}
	all, err := withoutConflict(ctx, func() ([]push.Matched, error) {
		rows, err := s.pool.Query(ctx, sql, args)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, scanMatched)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("matching receipts: %w", err)
	}
	looked = len(all)
	return slices.DeleteFunc(all, func(m push.Matched) bool { return m.DeliveryID == 0 }), looked, nil
}

// scanMatched reads a line of matchReceipts; one without delivery stands for a receipt that found none.
func scanMatched(rec pgx.CollectableRow) (push.Matched, error) {
	var m push.Matched
	var waited float64
	err := rec.Scan(&m.DeliveryID, &m.Provider, &m.Report, &m.Effect, &m.Code, &waited)
	m.Waited = seconds(waited)
	return m, err
}

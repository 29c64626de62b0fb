package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// openRows inserts the next round of deliveries whose row is absent, or whose last round is settled and older than
// the record by more than the window (rules I1 and U2). @opening is the status of what could go out now: sending (the
// intent), or failed (the tombstone that defeats an intent whose answer got lost). What is to be skipped, has expired
// or is not yet due opens as such in either case; a settled opening keeps no whole recipient.
const openRows = `
INSERT INTO push_log (biz_type, rule_version, dedup_id, action, round, biz_id, status, attempt, provider, error_code,
	user_id, recipient, recipient_hash, recipient_full, event, event_id, trace_id, owner, worker, intent_at,
	lease_until, next_attempt_at, expires_at, topic, partition, offset_, record_time, settled_at, reference)
SELECT q.biz_type, q.rule_version, q.dedup_id, q.action, coalesce(last.round, 0) + 1, q.biz_id, o.status,
	CASE WHEN o.status = @opening::text THEN 1 ELSE 0 END,
	CASE WHEN o.status = 'sending' THEN nullif(q.provider, '') END,
	CASE o.status WHEN 'skipped' THEN q.skip WHEN 'expired' THEN '` + codeExpired + `' END,
	nullif(q.user_id, ''), nullif(q.recipient, ''), q.recipient_hash,
	CASE WHEN o.status NOT IN ('skipped', 'expired') THEN nullif(q.recipient_full, '') END,
	q.event::json, nullif(q.event_id, ''), nullif(q.trace_id, ''),
	CASE WHEN o.status = 'sending' THEN q.owner END,
	CASE WHEN o.status = 'sending' THEN nullif(q.worker, '') END,
	CASE WHEN o.status = 'sending' THEN now() END,
	CASE WHEN o.status = 'sending' THEN now() + q.lease END,
	CASE o.status WHEN 'deferred' THEN q.not_before WHEN 'failed' THEN now() END,
	q.expires_at, q.topic, q.partition, q.offset_, q.record_time,
	CASE WHEN o.status IN ('skipped', 'expired') THEN now() END,
	CASE WHEN last.round IS NULL THEN nullif(q.reference, '') WHEN q.reference <> ''
		THEN push_reference(q.biz_type, q.rule_version, q.dedup_id, q.action, last.round + 1) END
FROM ` + newRows + `
LEFT JOIN LATERAL (
	SELECT l.round, l.settled_at FROM push_log l
	WHERE l.biz_type = q.biz_type AND l.rule_version = q.rule_version AND l.dedup_id = q.dedup_id AND l.action = q.action
	ORDER BY l.round DESC LIMIT 1) last ON true
CROSS JOIN LATERAL (SELECT CASE
	WHEN q.skip <> '' THEN 'skipped'
	WHEN q.expires_at <= now() THEN 'expired'
	WHEN q.not_before > now() THEN 'deferred'
	ELSE @opening::text END AS status) o
WHERE last.round IS NULL OR q.record_time > last.settled_at + q."window"
ORDER BY q.biz_type, q.rule_version, q.dedup_id, q.action
ON CONFLICT DO NOTHING
RETURNING biz_type, rule_version, dedup_id, action, id, round, status, attempt, updated_at`

// What openRows has not opened goes on to two statements in one batch, which PostgreSQL runs as one transaction. At
// READ COMMITTED each of them sees what was committed before it, so the last one reads what really is, whoever wrote it.

// found names the row that an item of the batch is about: of a main message its delivery's latest round.
const found = `l.biz_type = q.biz_type AND l.rule_version = q.rule_version AND l.dedup_id = q.dedup_id
	AND l.action = q.action AND l.round = coalesce(q.round, (SELECT max(r.round) FROM push_log r
		WHERE r.biz_type = q.biz_type AND r.rule_version = q.rule_version AND r.dedup_id = q.dedup_id
		AND r.action = q.action))`

// takeRows moves what an intent may take: the queued attempt that a retry message names (rules I2, I3), and another
// owner's sending whose row lease is over (rules I5, I6). since is ambiguous_since as it is to be: a WeChat attempt
// that was lost is ambiguous from its intent; of a lost SMS the old owner may still prove that it did not leave (hole
// H13), so nothing is set. What is past expires_at is never sent: expired if nothing can have left, else unknown.
// Raising attempt files the lost attempt (trigger push_log_next_attempt).
const takeRows = `
WITH held AS (
	SELECT l.id, l.status, l.retries_used + 1 < q.max_attempts AS retries_left, -- the lost attempt counts too
		l.possible_duplicate,
		coalesce(l.expires_at <= now(), false) AS past, q.me, q.lease, q.provider, q.worker, q.capability,
		q.resend_within, CASE WHEN l.status = 'sending' AND q.capability = 'windowed'
			THEN coalesce(l.ambiguous_since, l.intent_at) ELSE l.ambiguous_since END AS since
	FROM ` + asked + ` JOIN push_log l ON ` + found + `
	WHERE (` + isQueued + ` AND l.attempt = q.attempt)
	   OR (` + isSending + ` AND l.owner <> q.me AND l.lease_until <= now())
	ORDER BY l.id FOR NO KEY UPDATE OF l
), judged AS (
	SELECT h.*, CASE
		WHEN h.status = 'queued' AND h.past AND h.since IS NULL AND NOT h.possible_duplicate THEN 'expired' -- Q6, met on the way
		WHEN h.status = 'queued' AND h.past THEN 'unknown'                                   -- Q6: never expired (H15)
		WHEN h.capability = 'windowed' AND h.since + h.resend_within <= now() THEN 'unknown' -- I3, I5
		WHEN h.status = 'queued' THEN 'sending'                                              -- I2
		WHEN h.capability = 'opaque' THEN 'unknown'                                          -- I5, SMS
		WHEN h.capability = 'windowed' AND (h.past OR NOT h.retries_left) THEN 'unknown'     -- I5, WeChat
		WHEN h.past THEN 'expired'      -- in-app: an attempt that did not commit did not send
		WHEN NOT h.retries_left THEN 'dead'                                                  -- I6, in-app
		ELSE 'sending' END AS next                                                           -- I6
	FROM held h
)
UPDATE push_log l SET
	status = j.next,
	attempt = l.attempt + CASE WHEN j.status = 'sending' AND j.next = 'sending' THEN 1 ELSE 0 END,
	retries_used = l.retries_used + CASE WHEN j.status = 'sending' AND j.next = 'sending' THEN 1 ELSE 0 END,
	ambiguous_since = CASE WHEN j.status = 'queued' AND j.next = 'unknown' THEN coalesce(j.since, l.updated_at) ELSE j.since END,
	owner = CASE WHEN j.next = 'sending' THEN j.me ELSE l.owner END,
	worker = CASE WHEN j.next = 'sending' THEN nullif(j.worker, '') ELSE l.worker END,
	provider = CASE WHEN j.next = 'sending' THEN nullif(j.provider, '') ELSE l.provider END,
	intent_at = CASE WHEN j.next = 'sending' THEN now() ELSE l.intent_at END,
	lease_until = CASE WHEN j.next = 'sending' THEN now() + j.lease END,
	settled_at = CASE WHEN j.next IN ('dead', 'expired') THEN now() END,
	letter_due = j.next = 'dead',
	error_code = CASE j.next WHEN 'dead' THEN coalesce(l.error_code, '` + codeUsedUp + `')
		WHEN 'expired' THEN '` + codeExpired + `' ELSE l.error_code END,
	recipient_full = CASE WHEN j.next <> 'expired' THEN l.recipient_full END,
	updated_at = now()
FROM judged j WHERE l.id = j.id`

// readIntended is the rows' last word. A retry and a takeover that may send get the row's content: a message that asks
// for more than the first attempt is not believed, and the provider must see one and the same message.
const readIntended = `
SELECT ` + rowColumns + `,
	CASE WHEN (q.round IS NOT NULL OR l.attempt > 1) AND l.status = 'sending' AND l.owner = q.me THEN l.event::text END,
	CASE WHEN (q.round IS NOT NULL OR l.attempt > 1) AND l.status = 'sending' AND l.owner = q.me THEN l.recipient_full END
FROM ` + asked + ` LEFT JOIN push_log l ON ` + found + `
ORDER BY q.ord`

// Intend asks for the permission to send one attempt of each delivery: rules I1 to I8. An answer entitles its claim
// to send exactly if Row.MayBeSent(owner). The same intent may be asked again until it is answered (rules I7, I9).
func (s *Store) Intend(ctx context.Context, intents []push.Intent) []push.Answer {
	return s.ofIntents(ctx, intents, "writing intents", push.Sending, takeRows)
}

// ofIntents opens the rows that are absent, which answers nearly all intents; for the others it changes what may be
// changed, and reads the last word.
func (s *Store) ofIntents(ctx context.Context, intents []push.Intent, what string, opening push.Status,
	change string) []push.Answer {
	return batch[push.Intent, push.Answer, string]{
		key:  func(in push.Intent) string { return in.Delivery.Key() },
		fail: answerError,
		send: func(ctx context.Context, items []push.Intent) ([]push.Answer, error) {
			answers, err := s.opened(ctx, items, opening)
			if err == nil {
				err = s.taken(ctx, items, answers, change)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
			return answers, nil
		},
	}.run(ctx, intents)
}

// opened opens rows for the main messages that have none. What is not opened has no row in its answer.
func (s *Store) opened(ctx context.Context, items []push.Intent, opening push.Status) ([]push.Answer, error) {
	answers := make([]push.Answer, len(items))
	mains := mainMessages(items)
	if len(mains) == 0 {
		return answers, nil
	}
	rows, err := s.pool.Query(ctx, openRows, factsOf(opening, mains))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	news := make(map[push.Identity]push.Row, len(mains))
	for rows.Next() {
		var id push.Identity
		var r push.Row
		if err := rows.Scan(&id.BizType, &id.RuleVersion, &id.DedupID, &id.Action,
			&r.ID, &r.Round, &r.Status, &r.Attempt, &r.UpdatedAt); err != nil {
			return nil, err
		}
		news[id] = r
	}
	for i, in := range items {
		id := in.Delivery.Identity
		id.RuleVersion = version(id)
		if r, ok := news[id]; ok && in.Delivery.Retry == nil {
			answers[i].Row = asOpened(r, in)
		}
	}
	return answers, rows.Err()
}

// asOpened completes a new row's answer with what its intent gave it.
func asOpened(r push.Row, in push.Intent) push.Row {
	switch r.Status {
	case push.Sending:
		r.Owner, r.Provider, r.LeaseLeft = in.Owner, clean(in.Provider, maxLabel), in.Lease
	case push.Skipped, push.Expired:
		r.SettledAt = r.UpdatedAt
	default:
	}
	return r
}

// taken fills in the answers without a row: it changes what an intent may change, and reads what is.
func (s *Store) taken(ctx context.Context, items []push.Intent, answers []push.Answer, change string) error {
	var rest []push.Intent
	var whose []int
	for i, a := range answers {
		if !a.Row.Exists() {
			rest, whose = append(rest, items[i]), append(whose, i)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	args := askedOf(rest)
	var b pgx.Batch // one round trip, one transaction
	b.Queue(change, args)
	b.Queue(readIntended, args).Query(func(rows pgx.Rows) error {
		read, err := scanAnswers(rows)
		for n, a := range read {
			answers[whose[n]] = a
		}
		return err
	})
	return s.pool.SendBatch(ctx, &b).Close()
}

// mainMessages are the intents that may create a row; a retry message never may (hole H16).
func mainMessages(intents []push.Intent) []push.Intent {
	var mains []push.Intent
	for _, in := range intents {
		if in.Delivery.Retry == nil {
			mains = append(mains, in)
		}
	}
	return mains
}

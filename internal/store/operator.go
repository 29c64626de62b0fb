package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// unmoved are the rows of a deed that are still what the operator saw, with no later round behind them. The rows are
// locked by a statement before, so this one, with its own snapshot, sees every round that was opened until then.
const unmoved = `FROM unnest(@ids::bigint[], @statuses::text[], @attempts::integer[]) AS q (id, status, attempt)
	WHERE l.id = q.id AND l.status = q.status AND l.attempt = q.attempt AND NOT ` + overtaken

// inDoubt is push.Entry.InDoubt: once more may be a second time.
const inDoubt = `(l.status = 'unknown' OR l.ambiguous_since IS NOT NULL OR l.possible_duplicate
	OR l.error_code IS NOT DISTINCT FROM '` + codeUnknownExpired + `')`

const (
	// reopen is rule O1: the next attempt, in its own right. An operator who sends once more has seen to the cause, so
	// the retries begin anew. The doubt about earlier attempts is over by the operator's word; what is left of it is
	// possible_duplicate.
	reopen = `UPDATE push_log l SET ` + nextAttempt + `, retries_used = 0, ambiguous_since = NULL, settled_at = NULL,
		letter_due = false, error_code = NULL, error_message = NULL, possible_duplicate = `

	// reopened returns the row's poke, and its status and attempt before.
	reopened = ` AND l.recipient_full IS NOT NULL RETURNING ` + pokeColumns + `, q.status, q.attempt`

	requeueDeadSQL = reopen + `l.possible_duplicate ` + unmoved + `
		AND (l.status = 'failed' OR l.status = 'dead' AND NOT ` + inDoubt + `) AND ` + notOver + reopened

	// A row past its expires_at is queued, too: it then ends as expired, since nothing of it was sent.
	notSentSQL = reopen + `false ` + unmoved + `
		AND (l.status = 'unknown' OR l.status = 'dead' AND ` + inDoubt + ` AND ` + notOver + `)` + reopened

	resendByWordSQL = reopen + `true ` + unmoved + `
		AND (l.status = 'unknown' OR l.status = 'dead' AND ` + inDoubt + `) AND ` + notOver + reopened

	// sentByWordSQL is rule P1 by a person's word instead of a provider's.
	sentByWordSQL = `UPDATE push_log l SET status = 'sent', sent_at = now(), settled_at = now(), recipient_full = NULL,
		outcome = 'accepted', finished_at = now(), error_code = NULL, error_message = NULL, updated_at = now() ` + unmoved + `
		AND l.status = 'unknown' RETURNING ` + pokeColumns + `, q.status, q.attempt`

	notOver = `(l.expires_at IS NULL OR l.expires_at > now())`

	linkSQL = `INSERT INTO operator_action_delivery (action_id, delivery_id, was, attempt)
		SELECT @action, id, was, attempt
		FROM unnest(@ids::bigint[], @statuses::text[], @attempts::integer[]) AS q (id, was, attempt)`
)

// deedsSQL is the statement of each verb.
func deedsSQL(v push.Verb) string {
	switch v {
	case push.Requeue:
		return requeueDeadSQL
	case push.ResolveSent:
		return sentByWordSQL
	case push.ResolveNotSent:
		return notSentSQL
	case push.ResolveResend:
		return resendByWordSQL
	}
	return ""
}

// Move moves rows by an operator's word (rule O1, and P1): each only while it still has the status and the attempt that
// the operator saw, and no later round exists; the others are left alone and out of the answer. The rows, and the lines
// that say so under the action, are committed together. Those queued are to be published.
func (s *Store) Move(ctx context.Context, action int64, verb push.Verb, deeds []push.Deed) ([]push.Moved, error) {
	sql := deedsSQL(verb)
	if sql == "" {
		return nil, fmt.Errorf("moving rows: %q is no verb", verb)
	}
	moved, err := withoutConflict(ctx, func() ([]push.Moved, error) { return s.move(ctx, action, sql, deeds) })
	if err != nil {
		return nil, fmt.Errorf("moving rows by %s: %w", verb, err)
	}
	return moved, nil
}

func (s *Store) move(ctx context.Context, action int64, sql string, deeds []push.Deed) (moved []push.Moved, err error) {
	args := deedArgs(deeds)
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockRows, args["ids"]); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, args)
		if err != nil {
			return err
		}
		var done []push.Deed
		moved, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Moved, error) {
			var m push.Moved
			var was push.Deed
			err := row.Scan(append(pokeTargets(&m.Poke), &was.Status, &was.Attempt)...)
			was.ID, m.Queued = m.ID, m.Attempt > was.Attempt
			done = append(done, was)
			return m, err
		})
		if err != nil {
			return err
		}
		link := deedArgs(done)
		link["action"] = action
		_, err = tx.Exec(ctx, linkSQL, link)
		return err
	})
	slices.SortFunc(moved, func(a, b push.Moved) int { return int(a.ID - b.ID) })
	return moved, err
}

func deedArgs(deeds []push.Deed) pgx.NamedArgs {
	return pgx.NamedArgs{
		"ids":      column(deeds, func(d push.Deed) int64 { return d.ID }),
		"statuses": column(deeds, func(d push.Deed) string { return string(d.Status) }),
		"attempts": column(deeds, func(d push.Deed) int { return d.Attempt }),
	}
}

// Begin notes that an operator sets out to do something, before anything is done, and returns its id.
func (s *Store) Begin(ctx context.Context, d push.Deeds) (id int64, err error) {
	counts, err := json.Marshal(d.Counts)
	if err == nil {
		err = s.pool.QueryRow(ctx, `INSERT INTO operator_action (actor, role, verb, reason, filter, counts, matching)
			VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`, clean(d.Actor, maxLabel), clean(d.Role, maxLabel), d.Verb,
			clean(d.Reason, maxErrorMessage), clean(d.Filter, maxErrorMessage), string(counts), d.Matching).Scan(&id)
	}
	if err != nil {
		return 0, fmt.Errorf("noting an operator's action: %w", err)
	}
	return id, nil
}

// Finish notes that it came to its end, and how many rows were changed.
func (s *Store) Finish(ctx context.Context, id int64, changed int) error {
	_, err := s.pool.Exec(ctx, `UPDATE operator_action SET changed = $2, finished_at = now() WHERE id = $1`, id, changed)
	if err != nil {
		return fmt.Errorf("noting the end of an operator's action: %w", err)
	}
	return nil
}

const actionColumns = `a.id, a.actor, a.role, a.verb, a.reason, a.filter, a.counts, a.matching, a.changed, a.begun_at, a.finished_at`

// Actions returns what operators did, newest first, at most limit and only ids below before (0 means all).
func (s *Store) Actions(ctx context.Context, before int64, limit int) ([]push.Deeds, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+actionColumns+` FROM operator_action a WHERE $1 = 0 OR a.id < $1
		ORDER BY a.id DESC LIMIT $2`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("listing operators' actions: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Deeds, error) {
		var d push.Deeds
		return d, scanDeeds(row, &d)
	})
	if err != nil {
		return nil, fmt.Errorf("listing operators' actions: %w", err)
	}
	return list, nil
}

// ActionsOn returns what operators did to one delivery, oldest first.
func (s *Store) ActionsOn(ctx context.Context, deliveryID int64) ([]push.Done, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+actionColumns+`, d.was, d.attempt
		FROM operator_action_delivery d JOIN operator_action a ON a.id = d.action_id
		WHERE d.delivery_id = $1 ORDER BY a.id`, deliveryID)
	if err != nil {
		return nil, fmt.Errorf("listing what was done to delivery %d: %w", deliveryID, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (push.Done, error) {
		var d push.Done
		return d, scanDeeds(row, &d.Deeds, &d.Was, &d.Attempt)
	})
	if err != nil {
		return nil, fmt.Errorf("listing what was done to delivery %d: %w", deliveryID, err)
	}
	return list, nil
}

// scanDeeds reads actionColumns, and what follows them.
func scanDeeds(row pgx.CollectableRow, d *push.Deeds, more ...any) error {
	var counts string
	finished := orNull(d.FinishedAt)
	err := row.Scan(append([]any{&d.ID, &d.Actor, &d.Role, &d.Verb, &d.Reason, &d.Filter, &counts, &d.Matching,
		&d.Changed, &d.BegunAt, &finished}, more...)...)
	if err != nil {
		return err
	}
	d.FinishedAt = timeOf(finished)
	return json.Unmarshal([]byte(counts), &d.Counts)
}

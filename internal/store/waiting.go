package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// pace is the time over which SentAMinute is taken.
const pace = 5 * time.Minute

// waitingSQL uses the partial index of each kind of work. Ages are by PostgreSQL's clock.
const waitingSQL = `SELECT
	(SELECT count(*) FROM push_log WHERE status IN ('failed', 'deferred') AND next_attempt_at <= now()),
	(SELECT ` + ageOf + `min(next_attempt_at)), 0)::float8 FROM push_log WHERE status IN ('failed', 'deferred') AND next_attempt_at <= now()),
	(SELECT count(*) FROM push_log WHERE status IN ('failed', 'deferred') AND next_attempt_at > now()),
	(SELECT count(*) FROM push_log WHERE status = 'queued'),
	(SELECT ` + ageOf + `min(updated_at)), 0)::float8 FROM push_log WHERE status = 'queued'),
	(SELECT count(*) FROM push_log WHERE status = 'sending'),
	(SELECT ` + ageOf + `min(intent_at)), 0)::float8 FROM push_log WHERE status = 'sending'),
	(SELECT count(*) FROM push_log WHERE status = 'unknown'),
	(SELECT ` + ageOf + `min(` + since + `)), 0)::float8 FROM push_log WHERE status = 'unknown'),
	(SELECT count(*) FROM push_log WHERE status = 'dead' AND settled_at > now() - interval '24 h'),
	(SELECT count(*) FROM push_log WHERE letter_due)`

const ageOf = `coalesce(extract(epoch FROM now() - `

// Waiting tells what has not come to its end, and how many were sent a minute lately.
func (s *Store) Waiting(ctx context.Context) (push.Waiting, error) {
	w := push.Waiting{SentAMinute: make(map[push.Action]float64)}
	var due, queued, sending, unknown float64
	err := s.pool.QueryRow(ctx, waitingSQL).Scan(&w.Due, &due, &w.Later, &w.Queued, &queued, &w.Sending, &sending,
		&w.Unknown, &unknown, &w.Dead, &w.Letters)
	if err != nil {
		return w, fmt.Errorf("counting what waits: %w", err)
	}
	w.OldestDue, w.OldestQueued = seconds(due), seconds(queued)
	w.OldestSending, w.OldestUnknown = seconds(sending), seconds(unknown)
	rows, err := s.pool.Query(ctx, `SELECT action, count(*) FROM push_log
		WHERE updated_at >= now() - @pace::interval AND sent_at >= now() - @pace::interval GROUP BY action`, pgx.NamedArgs{"pace": pace})
	if err != nil {
		return w, fmt.Errorf("counting what was sent lately: %w", err)
	}
	var action push.Action
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&action, &n}, func() error {
		w.SentAMinute[action] = float64(n) / pace.Minutes()
		return nil
	})
	if err != nil {
		return w, fmt.Errorf("counting what was sent lately: %w", err)
	}
	return w, nil
}

// Changes returns rows whose status changed after the moment and row that the cursor names, in the order of their
// changes, and PostgreSQL's time before it looked. A zero time begins now: it returns none.
func (s *Store) Changes(ctx context.Context, f push.Filter, at time.Time, id int64, limit int) ([]push.Entry, time.Time, error) {
	var now time.Time
	if err := s.pool.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil || at.IsZero() {
		return nil, now, err
	}
	where, args := restrictions(f)
	args["at"], args["after"], args["limit"] = at, id, limit
	rows, err := s.pool.Query(ctx, `SELECT `+entryColumns+` FROM push_log l WHERE l.updated_at >= @at
		AND (l.updated_at, l.id) > (@at, @after) AND `+where+inStatuses(f)+` ORDER BY l.updated_at, l.id LIMIT @limit`, args)
	if err != nil {
		return nil, now, fmt.Errorf("listing changes of the push log: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return nil, now, fmt.Errorf("listing changes of the push log: %w", err)
	}
	return list, now, nil
}

// Whole returns the whole recipients that are still kept of rows by id: only for whoever may see them.
func (s *Store) Whole(ctx context.Context, ids []int64) (map[int64]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, recipient_full FROM push_log WHERE id = ANY ($1) AND recipient_full IS NOT NULL`, ids)
	if err != nil {
		return nil, fmt.Errorf("reading whole recipients: %w", err)
	}
	whole := make(map[int64]string, len(ids))
	var id int64
	var text string
	_, err = pgx.ForEachRow(rows, []any{&id, &text}, func() error {
		whole[id] = text
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading whole recipients: %w", err)
	}
	return whole, nil
}

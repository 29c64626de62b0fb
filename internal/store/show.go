package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// timelineOf reads the attempts of one delivery, the current one included and last.
const timelineOf = `SELECT attempt, coalesce(provider, ''), outcome, coalesce(provider_msg_id, ''),
	coalesce(error_code, ''), coalesce(error_message, ''), started_at, finished_at, coalesce(owner, ''),
	coalesce(worker, ''), current
FROM push_timeline WHERE delivery_id = $1 ORDER BY attempt`

// Show returns one delivery with all its attempts, the current one last; push.ErrNotFound when there is none.
func (s *Store) Show(ctx context.Context, id int64) (push.Entry, []push.Attempt, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+entryColumns+` FROM push_log l WHERE l.id = $1`, id)
	if err != nil {
		return push.Entry{}, nil, fmt.Errorf("showing delivery %d: %w", id, err)
	}
	entry, err := pgx.CollectExactlyOneRow(rows, scanEntry)
	if errors.Is(err, pgx.ErrNoRows) {
		err = push.ErrNotFound
	}
	if err != nil {
		return push.Entry{}, nil, fmt.Errorf("showing delivery %d: %w", id, err)
	}
	rows, err = s.pool.Query(ctx, timelineOf, id)
	if err != nil {
		return push.Entry{}, nil, fmt.Errorf("showing the attempts of delivery %d: %w", id, err)
	}
	attempts, err := pgx.CollectRows(rows, scanAttempt)
	if err != nil {
		return push.Entry{}, nil, fmt.Errorf("showing the attempts of delivery %d: %w", id, err)
	}
	return entry, attempts, nil
}

// scanAttempt reads a line of timelineOf.
func scanAttempt(rec pgx.CollectableRow) (push.Attempt, error) {
	var a push.Attempt
	var started, finished *time.Time
	err := rec.Scan(&a.Attempt, &a.Provider, &a.Outcome, &a.ProviderMsgID, &a.ErrorCode, &a.ErrorMessage, &started,
		&finished, &a.Owner, &a.Worker, &a.Current)
	a.StartedAt, a.FinishedAt = timeOf(started), timeOf(finished)
	return a, err
}

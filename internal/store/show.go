package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Attempt is one turn of a delivery, as push_timeline shows it.
type Attempt struct {
	Attempt       int    // 0 for a delivery that has none yet
	Provider      string // empty while none was named
	Outcome       string // a push.Class, or undone, lost; of the current attempt the row's status while it has none
	ProviderMsgID string
	ErrorCode     string
	ErrorMessage  string
	StartedAt     time.Time // zero while it has not begun
	FinishedAt    time.Time // zero while its outcome is not written
	Owner         string    // the claim that made it
	Worker        string    // host and process of that claim
	Current       bool      // the row's own attempt; the others are filed
}

// timelineOf reads the attempts of one delivery, the current one included and last.
const timelineOf = `SELECT attempt, coalesce(provider, ''), outcome, coalesce(provider_msg_id, ''),
	coalesce(error_code, ''), coalesce(error_message, ''), started_at, finished_at, coalesce(owner, ''),
	coalesce(worker, ''), current
FROM push_timeline WHERE delivery_id = $1 ORDER BY attempt`

// Show returns one delivery with all its attempts, the current one last; ErrNotFound when there is none.
func (s *Store) Show(ctx context.Context, id int64) (Entry, []Attempt, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+entryColumns+` FROM push_log l WHERE l.id = $1`, id)
	if err != nil {
		return Entry{}, nil, fmt.Errorf("showing delivery %d: %w", id, err)
	}
	entry, err := pgx.CollectExactlyOneRow(rows, scanEntry)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Entry{}, nil, fmt.Errorf("showing delivery %d: %w", id, err)
	}
	rows, err = s.pool.Query(ctx, timelineOf, id)
	if err != nil {
		return Entry{}, nil, fmt.Errorf("showing the attempts of delivery %d: %w", id, err)
	}
	attempts, err := pgx.CollectRows(rows, scanAttempt)
	if err != nil {
		return Entry{}, nil, fmt.Errorf("showing the attempts of delivery %d: %w", id, err)
	}
	return entry, attempts, nil
}

// scanAttempt reads a line of timelineOf.
func scanAttempt(rec pgx.CollectableRow) (Attempt, error) {
	var a Attempt
	var started, finished *time.Time
	err := rec.Scan(&a.Attempt, &a.Provider, &a.Outcome, &a.ProviderMsgID, &a.ErrorCode, &a.ErrorMessage, &started,
		&finished, &a.Owner, &a.Worker, &a.Current)
	a.StartedAt, a.FinishedAt = timeOf(started), timeOf(finished)
	return a, err
}

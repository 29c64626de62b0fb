package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

// rowColumns is what scanAnswers reads of push_log l; a row that is not there reads as zero values. Ages are taken at
// the answer, by PostgreSQL's clock, so that the asker needs no clock in common with it.
const rowColumns = `coalesce(l.id, 0), coalesce(l.round, 0), coalesce(l.status, ''), coalesce(l.attempt, 0),
	coalesce(l.retries_used, 0), coalesce(l.owner, ''), coalesce(l.provider, ''),
	coalesce(extract(epoch FROM l.lease_until - clock_timestamp()), 0)::float8,
	l.ambiguous_since IS NOT NULL,
	coalesce(extract(epoch FROM clock_timestamp() - l.ambiguous_since), 0)::float8,
	l.settled_at, l.updated_at`

// What a row must be for a batch to change it, in words in which the planner sees no partial index. A batch finds its rows
// by their keys; where statistics saw next to nothing under way, the planner would else read all that is, and what has
// been of late, again for each batch.
const (
	isSending = `l.status IS NOT DISTINCT FROM 'sending'`
	isQueued  = `l.status IS NOT DISTINCT FROM 'queued'`
	isUnknown = `l.status IS NOT DISTINCT FROM 'unknown'`
)

// noContent stands for the two columns of a retry's content where nobody asked for it.
const noContent = `, NULL::text, NULL::text`

// scanAnswers reads rowColumns and the content, one row an item, in the order asked.
func scanAnswers(rows pgx.Rows) ([]push.Answer, error) {
	return pgx.CollectRows(rows, func(rec pgx.CollectableRow) (push.Answer, error) {
		var (
			r               push.Row
			status          string
			lease, age      float64
			settled, update *time.Time
			event, whole    *string
		)
		err := rec.Scan(&r.ID, &r.Round, &status, &r.Attempt, &r.RetriesUsed, &r.Owner, &r.Provider, &lease,
			&r.Ambiguous, &age, &settled, &update, &event, &whole)
		r.Status = push.Status(status)
		r.LeaseLeft, r.AmbiguousAge = seconds(lease), seconds(age)
		r.SettledAt, r.UpdatedAt = timeOf(settled), timeOf(update)
		if event != nil {
			r.Event = []byte(*event)
		}
		if whole != nil {
			r.Recipient = *whole
		}
		return push.Answer{Row: r}, err
	})
}

// seconds is a duration that PostgreSQL gave as seconds.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// timeOf is t, or the zero time for NULL.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// orNull is t, or NULL for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// answerError is an item's error as its answer.
func answerError(err error) push.Answer { return push.Answer{Err: err} }

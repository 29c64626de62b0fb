package console

import (
	"context"
	"time"

	"pusher/internal/operate"
	"pusher/internal/push"
)

// Log reads the push log for pages: each call by an index, in milliseconds, however long the log.
type Log interface {
	// List gives deliveries newest first, below a row id; see push.Page.
	List(ctx context.Context, f push.Filter, before int64, limit int) (push.Page, error)
	// Actions gives what operators did, newest first, below an id.
	Actions(ctx context.Context, before int64, limit int) ([]push.Deeds, error)
	// Event is the event of a delivery as text, without its recipient; empty when it is not kept.
	Event(ctx context.Context, id int64) (string, error)
	// Changes gives the deliveries whose status changed after a moment and a row, in the order of their changes, at most
	// limit, and the time of the push log's own clock; of the zero moment it gives only the time.
	Changes(ctx context.Context, f push.Filter, at time.Time, id int64, limit int) ([]push.Entry, time.Time, error)
}

// Figures are what the first page shows.
type Figures interface {
	// Waiting tells what has not come to its end.
	Waiting(ctx context.Context) (push.Waiting, error)
	// Hourly counts the deliveries created in [from, to) by the hour; the zero time means until now.
	Hourly(ctx context.Context, from, to time.Time) ([]push.Hour, error)
	// Stats counts them by error, as they stand.
	Stats(ctx context.Context, from, to time.Time) ([]push.Count, error)
}

// Desk explains deliveries and does what operators ask. *operate.Desk is one.
type Desk interface {
	Explain(ctx context.Context, id int64) (operate.Story, error)
	Plan(ctx context.Context, verb push.Verb, f push.Filter) (*operate.Plan, error)
	Apply(ctx context.Context, p *operate.Plan, by operate.Actor, reason string) (operate.Outcome, error)
	Recipient(f push.Filter, text string) push.Filter
}

// Source is where the pages come from. A program that waits for its push log has none yet.
type Source struct {
	Log     Log
	Figures Figures
	Desk    Desk
}

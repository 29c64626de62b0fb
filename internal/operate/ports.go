package operate

import (
	"context"
	"time"

	"pusher/internal/push"
)

// Reader reads the push log. *store.Store is one.
type Reader interface {
	List(ctx context.Context, f push.Filter, before int64, limit int) (push.Page, error)
	Show(ctx context.Context, id int64) (push.Entry, []push.Attempt, error)
	Receipts(ctx context.Context, deliveryID int64) ([]push.Heard, error)
	ActionsOn(ctx context.Context, deliveryID int64) ([]push.Done, error)
}

// Mover moves rows by an operator's word. Candidates gives a page of the rows of a filter, newest first, and from
// where to go on (0: nothing older). Move has committed when it answers, and leaves out rows that had changed.
type Mover interface {
	Candidates(ctx context.Context, f push.Filter, before int64, limit int) ([]push.Candidate, int64, error)
	Move(ctx context.Context, action int64, verb push.Verb, deeds []push.Deed) ([]push.Moved, error)
	MarkPublished(ctx context.Context, pokes []push.Poke) error
}

// Book keeps what operators did.
type Book interface {
	Begin(ctx context.Context, d push.Deeds) (id int64, err error)
	Finish(ctx context.Context, id int64, changed int) error
}

// Publisher writes records to their topics, acknowledged by all replicas: all of them, or an error.
type Publisher interface {
	Publish(ctx context.Context, records []push.Record) error
}

// Keys reads one dedup key and changes nothing.
type Keys interface {
	Look(ctx context.Context, key string) (Key, error)
}

// Key is what a dedup key says.
type Key struct {
	State     push.KeyState
	Owner     string        // of a processing key
	Attempt   int           // of a processing key what it carried before the claim
	LeaseLeft time.Duration // 0: over, or not processing
	TTL       time.Duration
	Foreign   bool // something stands there that is no dedup key; the next claim replaces it
}

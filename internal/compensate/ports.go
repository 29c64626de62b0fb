package compensate

import (
	"context"
	"time"

	"pusher/internal/push"
)

// Queue brings rows back onto the retry topic (rules Q1, Q2). Each call takes at most limit rows that no other pass
// has in hand, and has committed when it answers. Requeue takes rows of one channel only where one is named.
type Queue interface {
	Requeue(ctx context.Context, limit int, p push.Policy, only push.Action) ([]push.Poke, error)
	Queued(ctx context.Context) (map[push.Action]int, error)
	Unpublished(ctx context.Context, limit int, patience time.Duration) ([]push.Poke, error)
	MarkPublished(ctx context.Context, pokes []push.Poke) error
}

// Sweeper takes up what a pusher left behind (rules Q3, Q4): rows queued again come back as pokes, the others as moved.
type Sweeper interface {
	SweepStale(ctx context.Context, limit int, p push.Policy) ([]push.Poke, []push.Decided, error)
	RepeatUnknown(ctx context.Context, limit int, p push.Policy) ([]push.Poke, error)
}

// Unknowns is what may have been sent (rule Q5). Questions puts off the next question about each row it returns, so
// that nobody else asks the same.
type Unknowns interface {
	Questions(ctx context.Context, limit int, p push.Policy, providers []string) ([]push.Question, error)
	Record(ctx context.Context, results []push.Result) []push.Answer
	Resend(ctx context.Context, limit int, p push.Policy, providers []string) ([]push.Poke, error)
	Held(ctx context.Context, p push.Policy) (int, error)
}

// Ender gives up (rule Q6). What it moved before an error comes with it.
type Ender interface {
	GiveUp(ctx context.Context, limit int, p push.Policy) ([]push.Decided, error)
}

// Letterbox holds the dead letters that are due (rule Q7). Letters hands at most limit of them to write, which says
// of each whether it is written; those are due no longer. No other pass gets them in between.
type Letterbox interface {
	Letters(ctx context.Context, limit int, write WriteLetters) (n int, err error)
}

// WriteLetters writes letters and says of each whether it is written; the error is about those that are not.
type WriteLetters = func(ctx context.Context, due []push.Letter) (done []bool, err error)

// Receipts is the providers' later words that have no delivery yet. MatchReceipts tells how many it looked at, too: none
// means that none is due.
type Receipts interface {
	MatchReceipts(ctx context.Context, limit int, ids []int64) (matched []push.Matched, looked int, err error)
	DropReceipts(ctx context.Context, limit int, keep time.Duration) (n int, err error)
}

// Memory is the rows whose dedup keys are compared with them (rule Q8).
type Memory interface {
	Recent(ctx context.Context, limit int, span, patience time.Duration) ([]push.Identity, error)
	Look(ctx context.Context, lookups []push.Lookup) []push.Answer
}

// Keys is the dedup keys in Redis. Reconcile repairs those that disagree with their rows; its error says that Redis left
// some unanswered.
type Keys interface {
	Reconcile(ctx context.Context, ids []push.Identity, window func(push.Identity) time.Duration,
		look func(context.Context, []push.Lookup) []push.Answer) (push.Tally, error)
}

// Hours keeps the counts that charts read. CountHours counts some hours that have changed, none when all are counted.
type Hours interface {
	CountHours(ctx context.Context) (hours int, err error)
}

// Pruner deletes what has been kept for long enough, at most limit rows a call. Prune looks at rows behind the id after,
// in their order, and says where to go on; 0: that was all.
type Pruner interface {
	Prune(ctx context.Context, after int64, limit int, keep time.Duration) (n int, next int64, err error)
	PruneInbox(ctx context.Context, limit int, keep time.Duration) (n int, err error)
}

// Forecast tells what a pass would do, and changes nothing.
type Forecast interface {
	Due(ctx context.Context, p push.Policy, providers []string, patience time.Duration) (push.Tally, error)
}

// Publisher writes records to their topics, acknowledged by all replicas: all of them, or an error.
type Publisher interface {
	Publish(ctx context.Context, records []push.Record) error
}

// Hints keeps what providers told of unknown sends without proving them ours, for people.
type Hints interface {
	Hint(ctx context.Context, hints []push.Hint) error
}

// Tracer shows the retry messages that were written: each is a step in the trace of its event.
type Tracer interface {
	Published(pokes []push.Poke, began time.Time)
}

// Asker asks a provider what became of a send whose outcome is unknown. Not found proves nothing.
type Asker interface {
	Find(ctx context.Context, q push.Question) (push.Finding, error)
}

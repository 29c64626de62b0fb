package deliver

import (
	"context"
	"time"

	"pusher/internal/push"
)

// Keys is the fast arbiter, Redis. Each call answers item by item.
type Keys interface {
	Claim(ctx context.Context, claims []push.Claim) []push.Grant
	Settle(ctx context.Context, settles []push.KeySettle) []push.KeyAnswer
	Release(ctx context.Context, holds []push.KeyHold) []push.KeyAnswer
	Renew(ctx context.Context, holds []push.KeyHold) []push.KeyAnswer
}

// Intents is the truth before a send, PostgreSQL.
type Intents interface {
	Intend(ctx context.Context, intents []push.Intent) []push.Answer
	UndoLost(ctx context.Context, intents []push.Intent) []push.Answer
	Look(ctx context.Context, lookups []push.Lookup) []push.Answer
}

// Results is the memory after a send, PostgreSQL.
type Results interface {
	Onward

	Record(ctx context.Context, results []push.Result) []push.Answer
	Undo(ctx context.Context, held []push.Held) []push.Answer
	Renew(ctx context.Context, held []push.Held) []push.KeyAnswer
}

// Onward takes a claim on to its next attempt: the repeat of an ambiguous one (rule P4), or the next provider's (P5).
type Onward interface {
	Repeat(ctx context.Context, held []push.Held) []push.Answer
	Switch(ctx context.Context, switches []push.Switch) []push.Answer
}

// Sender is one provider of a channel, with what holds it back.
type Sender interface {
	// Provider is its name in the push log.
	Provider() string
	// Serves reports whether it has a template for the push.
	Serves(bizType string) bool
	// Enter waits, as long as ctx allows, for the permission to make one request: the provider's rate over all
	// instances, its limit of requests out at once, its breaker. leave is called exactly once with how the request ended:
	// nil for accepted, push.ErrNotMade when none was made. A refusal is a *push.Failure with Unsent: it names the wait
	// after which it is worth trying again.
	Enter(ctx context.Context, m push.Message) (leave func(err error), err error)
	// Send makes the request. Its error is a *push.Failure, or is read as ambiguous.
	Send(ctx context.Context, m push.Message) (push.Acceptance, error)
}

// Health is what a Sender may say of itself before it is chosen: whether it would take a new message of this push now,
// its breaker closed and nothing stopped for it. A Sender that says nothing is healthy.
type Health interface {
	Healthy(bizType string) bool
}

// Writer is a Sender that can say beforehand whether a message keeps to its provider's own rules. One that says nothing
// can write all.
type Writer interface {
	Writes(m push.Message) bool
}

// Meter counts what happened.
type Meter interface {
	Outcomes
	Leases
}

// Outcomes counts messages and deliveries.
type Outcomes interface {
	// Duplicate is a message discarded: by "redis", by "row".
	Duplicate(a push.Action, by string)
	// Attempt is one request at a provider.
	Attempt(a push.Action, provider string, c push.Class, took time.Duration)
	// Ended is what a request came to, as it was written, with the wait that it was given.
	Ended(a push.Action, r push.Result)
	// Row is what a delivery's row said when its turn ended.
	Row(a push.Action, provider string, s push.Status)
}

// Leases counts claims that changed hands, and those that changed the provider.
type Leases interface {
	// LeaseLost is a claim found in another owner's hands.
	LeaseLost(a push.Action)
	// Takeover is an attempt taken over from an owner whose lease was over (rule I6).
	Takeover(a push.Action)
	// Switched is a refusal after which the next provider is tried (rule P5).
	Switched(a push.Action, provider, next string)
}

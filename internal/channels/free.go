package channels

import (
	"context"

	"pusher/internal/push"
)

// Plain is a sender that holds nothing back.
type Plain interface {
	Send(ctx context.Context, m push.Message) (push.Acceptance, error)
	Provider() string
	Serves(bizType string) bool
}

// Free lets every request of a sender leave at once: no rate, no breaker, no limit of requests out.
type Free struct{ Plain }

// Enter lets the request leave.
func (Free) Enter(context.Context, push.Message) (leave func(err error), err error) {
	return func(error) {}, nil
}

// Writes is the sender's own word, where it has one.
func (f Free) Writes(m push.Message) bool {
	says, ok := f.Plain.(interface{ Writes(m push.Message) bool })
	return !ok || says.Writes(m)
}

// Healthy is the sender's own word, where it has one.
func (f Free) Healthy(bizType string) bool {
	says, ok := f.Plain.(interface{ Healthy(bizType string) bool })
	return !ok || says.Healthy(bizType)
}

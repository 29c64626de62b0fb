package compensate

import (
	"context"
	"errors"
	"math"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// requeue brings back what failed or was put off: rule Q1. A channel with a rate gets no more than it takes until the
// next pass, its rows that are queued already included: what is beyond that keeps its place in the push log, where it
// can still expire, instead of waiting in the retry topic in front of others.
func (t *turn) requeue(ctx context.Context) error {
	if len(t.Rates) == 0 {
		return t.requeueOf(ctx, "", math.MaxInt)
	}
	queued, err := t.Queue.Queued(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, channel := range push.Actions() {
		failed = append(failed, t.requeueOf(ctx, channel, t.room(channel, queued[channel])))
	}
	return errors.Join(failed...)
}

// room is how many rows of a channel may be re-queued: at least one where none is queued, however slow the channel.
func (t *turn) room(channel push.Action, queued int) int {
	rate, limited := t.Rates[channel]
	if !limited {
		return math.MaxInt
	}
	return int(math.Ceil(rate*t.Every.Seconds())) - queued
}

// requeueOf re-queues at most room rows of a channel, or of all channels.
func (t *turn) requeueOf(ctx context.Context, only push.Action, room int) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		if room <= 0 {
			return push.Tally{}, nil
		}
		pokes, err := t.Queue.Requeue(ctx, min(t.Batch, room), t.Policy, only)
		room -= len(pokes)
		return t.poked(ctx, push.Tally{Requeued: len(pokes)}, pokes, err, fault.AfterRequeue)
	})
}

package compensate

import (
	"context"
	"errors"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// sweep takes up stale sends: rule Q3.
func (t *turn) sweep(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		pokes, rest, err := t.Sweeper.SweepStale(ctx, t.Batch, t.Policy)
		moved := t.swept(pokes, rest)
		if err == nil && moved != (push.Tally{}) {
			err = fault.At(fault.AfterSweep)
		}
		if err != nil {
			return moved, err
		}
		return moved, t.poke(ctx, pokes)
	})
}

// repeat sends again what the provider itself keeps from doubling: rule Q4.
func (t *turn) repeat(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		pokes, err := t.Sweeper.RepeatUnknown(ctx, t.Batch, t.Policy)
		return t.poked(ctx, push.Tally{Repeated: len(pokes)}, pokes, err, fault.AfterAgain)
	})
}

// resend sends again what policy says so of, after the asking: rule Q5.
func (t *turn) resend(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		pokes, err := t.Unknowns.Resend(ctx, t.Batch, t.Policy, t.askable())
		t.resent(pokes)
		return t.poked(ctx, push.Tally{Resent: len(pokes)}, pokes, err, fault.AfterResend)
	})
}

// republish publishes again what a crash or a lost message left queued: rule Q2.
func (t *turn) republish(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		pokes, err := t.Queue.Unpublished(ctx, t.Batch, t.patience())
		return t.poked(ctx, push.Tally{Republished: len(pokes)}, pokes, err, fault.AfterPick)
	})
}

// poked publishes what a statement has just queued, unless the statement itself failed. Where it queued something, the
// point behind it is passed. Behind a full batch there are probably more: it is published while the next one is picked,
// and its error is the next call's, or that of batches.
func (t *turn) poked(
	ctx context.Context, moved push.Tally, pokes []push.Poke, err error, behind fault.Point,
) (push.Tally, error) {
	if err == nil && len(pokes) > 0 {
		err = fault.At(behind)
	}
	if err != nil {
		return moved, err
	}
	if err := t.published(); err != nil || len(pokes) < t.Batch {
		return moved, errors.Join(err, t.poke(ctx, pokes))
	}
	t.writing = make(chan error, 1)
	go func(done chan<- error) { done <- t.poke(ctx, pokes) }(t.writing) // published waits for it
	return moved, nil
}

// published waits for the batch that is being published, if there is one.
func (t *turn) published() error {
	if t.writing == nil {
		return nil
	}
	err := <-t.writing
	t.writing = nil
	return err
}

// poke publishes the rows' retry messages and notes it in the rows. They are committed as queued already, so nothing
// is lost whatever happens here: a row without its note is published again after the patience. A pass that is told
// to stop still publishes the batch in hand.
func (t *turn) poke(ctx context.Context, pokes []push.Poke) error {
	if len(pokes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Call)
	defer cancel()
	if err := fault.At(fault.BeforePublish); err != nil {
		return err
	}
	began := t.Now()
	done, err := write(ctx, t.Publisher, pokes, func(p push.Poke) (push.Record, error) {
		return p.Record(t.RetryTopic)
	})
	if t.Tracer != nil {
		t.Tracer.Published(chosen(pokes, done), began)
	}
	if lost := fault.At(fault.AfterPublish); lost != nil {
		return errors.Join(err, lost)
	}
	return errors.Join(err, t.Queue.MarkPublished(ctx, chosen(pokes, done)), fault.At(fault.AfterNote))
}

// chosen returns the items that done marks.
func chosen[T any](items []T, done []bool) []T {
	var some []T
	for i, item := range items {
		if done[i] {
			some = append(some, item)
		}
	}
	return some
}

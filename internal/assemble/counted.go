package assemble

import (
	"context"
	"errors"

	"pusher/internal/consume"
	"pusher/internal/push"
	"pusher/internal/telemetry"
)

// counted counts what becomes of the records that its handler takes in.
type counted struct {
	consume.Handler

	metrics *telemetry.Metrics
}

// Handle hands the record on and counts its end.
func (c counted) Handle(ctx context.Context, r push.Record, done func(error)) error {
	err := c.Handler.Handle(ctx, r, func(err error) {
		c.ended(err)
		done(err)
	})
	if err != nil {
		c.ended(err)
	}
	return err
}

// ended counts an end; an error that is neither poison nor tombstone is none: the record comes again.
func (c counted) ended(err error) {
	if err == nil {
		c.metrics.Event(telemetry.OutcomeDone)
		return
	}
	var poison *push.PoisonError
	switch {
	case errors.As(err, &poison):
		c.metrics.Event(telemetry.OutcomePoison)
		c.metrics.DeadLetter(poison.Reason)
	case errors.Is(err, push.ErrTombstone):
		c.metrics.Event(telemetry.OutcomeTombstone)
	}
}

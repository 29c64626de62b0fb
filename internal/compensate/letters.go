package compensate

import (
	"context"
	"errors"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// letters writes every dead letter that is due: rule Q7. A letter written twice is harmless, one that is lost is not.
func (t *turn) letters(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		n, err := t.Letterbox.Letters(ctx, t.Batch, func(ctx context.Context, due []push.Letter) ([]bool, error) {
			ctx, cancel := context.WithTimeout(ctx, t.Call)
			defer cancel()
			if err := fault.At(fault.BeforeLetter); err != nil {
				return make([]bool, len(due)), err
			}
			done, err := write(ctx, cutting{t.Publisher}, due, func(l push.Letter) (push.Record, error) {
				return l.Record(t.DeadLetterTopic)
			})
			if lost := fault.At(fault.AfterLetter); lost != nil {
				return make([]bool, len(due)), errors.Join(err, lost)
			}
			return done, err
		})
		return push.Tally{Letters: n}, err
	})
}

package compensate

import (
	"context"

	"pusher/internal/push"
)

// letters writes every dead letter that is due: rule Q7. A letter written twice is harmless, one that is lost is not.
func (t *turn) letters(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		n, err := t.Letterbox.Letters(ctx, t.Batch, func(ctx context.Context, due []push.Letter) ([]bool, error) {
			ctx, cancel := context.WithTimeout(ctx, t.Call)
			defer cancel()
			return write(ctx, cutting{t.Publisher}, due, func(l push.Letter) (push.Record, error) {
				return l.Record(t.DeadLetterTopic)
			})
		})
		return push.Tally{Letters: n}, err
	})
}

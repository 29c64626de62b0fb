package assemble

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/dedup"
)

// rationMost is how long a question to a provider waits for Redis's word on whose turn it is.
const rationMost = 250 * time.Millisecond

// turns lets the passes that run at once, in whatever processes, share what a provider allows one account. A Redis that
// does not answer is not asked again: then each pass keeps to its sender's own pace.
type turns struct {
	ration  *dedup.Ration
	account string
	alone   atomic.Bool
}

// tencentQuestions are what Tencent allows an account: 20 a second.
func tencentQuestions(client redis.UniversalClient, account string) *turns {
	ration := dedup.NewRation(client, dedup.RationConfig{
		Name: "tencent-query", Most: 20, Period: time.Second, Apart: time.Second / 20,
	})
	return &turns{ration: ration, account: account}
}

// Wait returns when it is the caller's turn, or with ctx's error.
func (t *turns) Wait(ctx context.Context) error {
	for !t.alone.Load() {
		wait, err := t.take(ctx)
		if err != nil {
			t.alone.Store(true)
		}
		if wait <= 0 {
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return ctx.Err()
}

func (t *turns) take(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, rationMost)
	defer cancel()
	return t.ration.Take(ctx, t.account)
}

package tencent

import (
	"context"
	"sync"
	"time"
)

// pace keeps calls apart, each by the same time, in the order in which they come. Its zero value lets all pass.
type pace struct {
	apart time.Duration

	mu   sync.Mutex
	next time.Time // guarded by mu; when the next caller may go
}

// wait returns when it is the caller's turn, or with ctx's error when ctx would end before; then the turn is lost.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	turn := time.Now()
	if p.next.After(turn) {
		turn = p.next
	}
	p.next = turn.Add(p.apart)
	p.mu.Unlock()
	timer := time.NewTimer(time.Until(turn))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

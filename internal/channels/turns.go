package channels

import (
	"context"
	"sync"
	"time"
)

// Turns keeps calls apart, each by the same time, in the order in which they come. It is safe for concurrent use.
type Turns struct {
	apart time.Duration

	mu   sync.Mutex
	next time.Time // guarded by mu; when the next caller may go
}

// NewTurns lets so many calls a second go, none ahead of its turn.
func NewTurns(perSecond int) *Turns { return &Turns{apart: time.Second / time.Duration(perSecond)} }

// Wait returns when it is the caller's turn, or with ctx's error when ctx would end before; then the turn is lost.
func (t *Turns) Wait(ctx context.Context) error {
	t.mu.Lock()
	turn := time.Now()
	if t.next.After(turn) {
		turn = t.next
	}
	t.next = turn.Add(t.apart)
	t.mu.Unlock()
	timer := time.NewTimer(time.Until(turn))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package deliver

import (
	"context"
	"sync"
)

// flights is the index of the keys that this process has in hand. It outlives Kafka's generations: a record that
// comes again after a rebalance waits for the very delivery of this process, instead of finding its own claim busy
// until a lease ends.
type flights struct {
	mu   sync.Mutex
	keys map[string]chan struct{} // guarded by mu; nil until somebody waits, closed when the key's flight ends
}

func newFlights() *flights { return &flights{keys: make(map[string]chan struct{})} }

// enter waits until no other delivery of this process has the key, and takes it. leave must follow a nil error.
func (f *flights) enter(ctx context.Context, key string) error {
	for {
		other := f.take(key)
		if other == nil {
			return nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take takes the key, or returns the channel that closes when the other flight ends.
func (f *flights) take(key string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	other, taken := f.keys[key]
	if !taken {
		f.keys[key] = nil
		return nil
	}
	if other == nil {
		other = make(chan struct{})
		f.keys[key] = other
	}
	return other
}

// leave gives the key up and wakes who waits for it.
func (f *flights) leave(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if waited := f.keys[key]; waited != nil {
		close(waited)
	}
	delete(f.keys, key)
}

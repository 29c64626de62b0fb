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
	keys map[string]chan struct{} // guarded by mu; closed when the key's flight ends
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
	if other, taken := f.keys[key]; taken {
		return other
	}
	f.keys[key] = make(chan struct{})
	return nil
}

// leave gives the key up and wakes who waits for it.
func (f *flights) leave(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.keys[key])
	delete(f.keys, key)
}

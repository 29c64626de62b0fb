package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
)

// childrenMost bounds what children keep: keys come from configuration, but nothing here relies on it.
const childrenMost = 500

// children keeps the children of a vector of metrics by what they are asked for: labels are then checked and hashed once,
// not for each delivery. It is safe for concurrent use.
type children[K comparable, V any] struct {
	find func(K) V

	mu    sync.Mutex              // held by who adds
	known atomic.Pointer[map[K]V] // replaced as a whole
}

// of finds a child.
func (c *children[K, V]) of(key K) V {
	if known := c.known.Load(); known != nil {
		if child, ok := (*known)[key]; ok {
			return child
		}
	}
	child := c.find(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	grown := map[K]V{}
	if known := c.known.Load(); known != nil {
		if len(*known) >= childrenMost {
			return child
		}
		maps.Copy(grown, *known)
	}
	grown[key] = child
	c.known.Store(&grown)
	return child
}

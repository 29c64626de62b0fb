package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// counter counts by name, from any goroutine.
type counter struct {
	mu sync.Mutex
	by map[string]int // guarded by mu
}

func (c *counter) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.by[name]++
}

func (c *counter) sum() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
	for _, n := range c.by {
		sum += n
	}
	return sum
}

// copied is what was counted so far.
func (c *counter) copied() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.by)
}

// words lists counts by name: "3 dead, 120 sent".
func words[K ~string](by map[K]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if by[name] > 0 {
			list = append(list, fmt.Sprintf("%d %s", by[name], name))
		}
	}
	return strings.Join(list, ", ")
}

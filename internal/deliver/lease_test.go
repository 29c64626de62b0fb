package deliver

import (
	"sync"
	"testing"
	"time"
)

// clock is a clock in the test's hands: it carries no monotonic reading, so that its wall time counts.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func TestLeaseCountsFromBeforeTheCall(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := newLease(c.now, 30*time.Second)
	c.pass(12 * time.Second)
	if got := l.left(); got != 18*time.Second {
		t.Errorf("left = %v, want 18s", got)
	}
	before := c.now()
	c.pass(3 * time.Second) // the renewal's answer takes its time
	l.extend(before)
	if got := l.left(); got != 27*time.Second {
		t.Errorf("left after a renewal = %v, want 27s", got)
	}
}

func TestLostLeaseHasNothingLeft(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := newLease(c.now, 30*time.Second)
	l.lose()
	l.extend(c.now())
	if got := l.left(); got > 0 {
		t.Errorf("left = %v, want none", got)
	}
}

// TestRuleF1RenewalRevivesNoLeaseThatIsOver: on waking, the watchdog may come before the fence.
func TestRuleF1RenewalRevivesNoLeaseThatIsOver(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := newLease(c.now, 30*time.Second)
	c.pass(31 * time.Second)
	l.extend(c.now())
	if got := l.left(); got > 0 {
		t.Errorf("left = %v of a lease that was over before its renewal", got)
	}
}

func TestElapsedIsTheLargerOfMonotonicAndWall(t *testing.T) {
	t.Parallel()
	mono := time.Now() // has both readings
	if got := elapsed(mono, mono.Add(5*time.Second)); got != 5*time.Second {
		t.Errorf("elapsed = %v, want 5s", got)
	}
	// A machine suspended for a minute: the wall clock saw it, the monotonic one did not.
	wallOnly := mono.Round(0).Add(time.Minute)
	if got := elapsed(mono, wallOnly); got != time.Minute {
		t.Errorf("elapsed over a suspend = %v, want 1m", got)
	}
}

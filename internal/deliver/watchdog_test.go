package deliver

import (
	"testing"
	"time"

	"pusher/internal/push"
)

func watched(w *world, c *clock, row push.Held) (*watchdog, *hold) {
	dog := &watchdog{keys: w, rows: results{w}, third: 10 * time.Second, now: c.now, holds: map[*hold]struct{}{}}
	h := &hold{key: push.KeyHold{Key: "k", Owner: "me"}, lease: newLease(c.now, 30*time.Second)}
	h.sending(row)
	dog.watch(h)
	return dog, h
}

func TestRuleN1WatchdogExtendsWhatIsOurs(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]push.Held{"before the intent": {}, "with a row": {ID: 1, Owner: "me", Attempt: 1}} {
		c := newClock()
		dog, h := watched(newWorld(), c, row)
		c.pass(20 * time.Second)
		dog.step(t.Context())
		if got := h.lease.left(); got != 30*time.Second {
			t.Errorf("%s: left = %v, want the whole lease", name, got)
		}
	}
}

func TestRuleN1AnotherOwnerInTheRowClosesTheFence(t *testing.T) {
	t.Parallel()
	w, c := newWorld(), newClock()
	w.renewed = func(row bool) push.KeyAnswer { return push.KeyAnswer{Mine: !row} }
	dog, h := watched(w, c, push.Held{ID: 1, Owner: "me", Attempt: 1})
	c.pass(10 * time.Second)
	dog.step(t.Context())
	if got := h.lease.left(); got > 0 {
		t.Errorf("left = %v, want none", got)
	}
}

func TestForgottenKeyTakesNothingFromTheRowsOwner(t *testing.T) {
	t.Parallel()
	w, c := newWorld(), newClock()
	w.renewed = func(row bool) push.KeyAnswer { return push.KeyAnswer{Mine: row} }
	dog, h := watched(w, c, push.Held{ID: 1, Owner: "me", Attempt: 1})
	c.pass(20 * time.Second)
	dog.step(t.Context())
	if got := h.lease.left(); got != 30*time.Second {
		t.Errorf("left = %v, want the whole lease: the row is ours", got)
	}
}

func TestUnansweredRenewalLeavesTheLeaseRunning(t *testing.T) {
	t.Parallel()
	w, c := newWorld(), newClock()
	w.fail["renew row"] = 1
	dog, h := watched(w, c, push.Held{ID: 1, Owner: "me", Attempt: 1})
	c.pass(20 * time.Second)
	dog.step(t.Context())
	if got := h.lease.left(); got != 10*time.Second {
		t.Errorf("left = %v, want the 10s that remain", got)
	}
}

func TestYoungOrDroppedHoldIsNotRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := newClock()
	dog, h := watched(w, c, push.Held{})
	dog.step(t.Context())
	if len(w.calls) != 0 {
		t.Errorf("calls = %v, want none: the claim is young", w.calls)
	}
	c.pass(time.Minute)
	dog.drop(h)
	dog.step(t.Context())
	if len(w.calls) != 0 {
		t.Errorf("calls = %v, want none: the claim is dropped", w.calls)
	}
}

package chaos

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	points "pusher/internal/fault"
)

func TestEveryTrapIsOneThatTheProgramsKnow(t *testing.T) {
	t.Parallel()
	for _, compensator := range []bool{false, true} {
		seen := map[string]bool{}
		for draw := range uint64(100) {
			trap := trapOf(compensator, draw)
			point, kind, _ := strings.Cut(trap, "=")
			if !slices.Contains(points.Points(), points.Point(point)) || kind != string(points.Die) {
				t.Errorf("%s is no trap", trap)
			}
			seen[trap] = true
		}
		if len(seen) < 5 {
			t.Errorf("only %d traps are ever set", len(seen))
		}
	}
}

// One in a trap is meant to end there: it is not counted, and does not come back before it is healed.
func TestATrappedMemberStaysDownAndIsNotCounted(t *testing.T) {
	t.Parallel()
	m := sleeper(t)
	m.end(syscall.SIGKILL)
	m.args = []string{"0"} // as one whose trap springs at once
	if err := m.begin(trapOf(true, 0)); err != nil {
		t.Fatal(err)
	}
	m.watches.Wait()
	if up(m) || m.died.Load() != 0 {
		t.Errorf("up %t, %d deaths; want it down and nothing counted", up(m), m.died.Load())
	}
	m.end(syscall.SIGKILL)
	m.args = []string{"1000"}
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !up(m); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come back")
		}
	}
}

// Two minutes are enough for a compensator to die between a commit and its message.
func TestTwoMinutesHoldACrashBetweenCommitAndMessage(t *testing.T) {
	t.Parallel()
	const seeds = 200
	without := 0
	for seed := range uint64(seeds) {
		c, found := newCast(3, 2), false
		for _, f := range plan(seed, 2*time.Minute, 3*time.Second, lease, c) {
			if f.kind == processTrapped && f.on[0][0] == 'c' {
				trap := trapOf(true, f.draw)
				found = found || trap == "requeue.after=die" || trap == "publish.before=die"
			}
		}
		if !found {
			without++
		}
	}
	if without > seeds/10 {
		t.Errorf("%d of %d plans have none", without, seeds)
	}
}

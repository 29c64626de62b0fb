package protocol

import (
	"testing"
	"time"

	"pusher/internal/push"
)

// refused takes a worker to the first provider's refusal.
func (w *world) refused(name string) *worker {
	w.Helper()
	x := w.sends(w.on(name, nil))
	w.arrive(x.flight, false)
	w.hear(x, false, push.NotSent)
	return x
}

// The traces of rule P5: the first provider refused, and something breaks around the switch.
func TestRuleP5_Traces(t *testing.T) {
	t.Parallel()
	r := begin(t, onRedis(t))
	for name, c := range map[string]struct {
		play     func(*world)
		status   push.Status
		attempt  int
		provider string
		told     int
	}{
		"the second takes it": {func(w *world) {
			x := w.refused("w1")
			w.switchTo(x)
			w.look(x)
			w.send(x)
			w.gets(x, push.Accepted)
			w.end(x)
		}, push.Sent, 2, "tencent", 1},
		"both refuse": {func(w *world) {
			x := w.refused("w1")
			w.switchTo(x)
			w.look(x)
			w.send(x)
			w.gets(x, push.Throttled)
			w.end(x)
		}, push.Failed, 2, "tencent", 0},
		"dead before the switch: nobody knows that it was refused": {func(w *world) {
			w.refused("w1").crash()
			w.pass(5 * time.Minute)
			w.does("Q3")
		}, push.Unknown, 1, "aliyun", 0},
		"dead after the switch: the second one is asked": {func(w *world) {
			x := w.refused("w1")
			w.switchTo(x)
			w.look(x)
			w.send(x)
			w.arrive(x.flight, true)
			x.crash()
			w.pass(5 * time.Minute)
			w.does("Q3", "Q5")
		}, push.Sent, 2, "tencent", 1},
		"swept before the switch: not granted, and the refusal is proof": {func(w *world) {
			x := w.refused("w1")
			w.pass(3 * time.Minute)
			w.does("Q3")
			w.switchTo(x)
			w.end(x)
		}, push.Failed, 1, "aliyun", 0},
		"swept after the switch: its own owner may still undo": {func(w *world) {
			x := w.refused("w1")
			w.switchTo(x)
			w.pass(3 * time.Minute)
			w.does("Q3")
			if w.look(x) {
				w.Fatalf("the fence of %s is open", x)
			}
			w.undo(x)
			w.end(x)
		}, push.Failed, 2, "tencent", 0},
		"a switch that lands late finds nothing to do": {func(w *world) {
			x := w.refused("w1")
			late, round := w.toNext(x), x.row.Round
			w.record(x)
			w.landSwitch(late, round)
			w.end(x)
		}, push.Failed, 1, "aliyun", 0},
		"the second one's doubt": {func(w *world) {
			x := w.refused("w1")
			w.switchTo(x)
			w.look(x)
			w.send(x)
			w.gets(x, push.Ambiguous)
			w.end(x)
		}, push.Unknown, 2, "tencent", 1},
	} {
		t.Log(name)
		w := newWorld(t, r, rules(), push.SMS)
		c.play(w)
		w.says(c.status, c.attempt)
		w.reached(c.told)
		if got := w.log.Round(0).Provider; got != c.provider {
			t.Errorf("%s: the row names %s, want %s", name, got, c.provider)
		}
	}
}

package protocol

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"pusher/internal/push"
)

// walk is a world whose steps are drawn at random.
type walk struct {
	*world

	t *rapid.T
}

// draw is one of n (at most 128), each as likely as the next: rapid's own ranges prefer small numbers. A failed walk is
// told as one with as many zeros as possible.
func (w walk) draw(n int, label string) int {
	drawn := 0
	for _, bit := range rapid.SliceOfN(rapid.Bool(), 7, 7).Draw(w.t, label) {
		drawn *= 2
		if bit {
			drawn++
		}
	}
	return drawn % n
}

// chance draws what happens in about so many of a hundred cases; zero is that it does not.
func (w walk) chance(percent int, label string) bool { return w.draw(100, label) >= 100-percent }

// step is one thing that a worker may do where it stands.
type step struct {
	name string
	do   func()
}

// worker makes one step of one worker.
func (w walk) worker(x *worker) {
	steps := w.choices(x)
	s := steps[w.draw(len(steps), "step of "+x.name)]
	w.did(s.name)
	s.do()
}

// goesOn makes a worker do what is usual, a few steps long: walks get to the sends.
func (w walk) goesOn(x *worker) {
	for range 2 + w.draw(7, "usual steps of "+x.name) {
		s := w.choices(x)[0]
		w.did(s.name)
		s.do()
		w.check()
		if x.stage == idle {
			return
		}
	}
}

// choices lists what a worker may do; what is usual stands there more than once.
func (w walk) choices(x *worker) []step {
	again := func(n int, name string, do func()) []step { return slices.Repeat([]step{{name, do}}, n) }
	crash := again(1, "crash", x.crash)
	renew := again(1, "renew", func() { w.renew(x) })
	undo := again(1, "undo", func() { w.undo(x) })
	switch x.stage {
	case idle:
		return again(1, "take", func() { w.message(x) })
	case claimed:
		return slices.Concat(again(5, "intend", func() { w.intend(x) }), crash, again(1, "renew key", func() { w.renewKey(x) }),
			again(1, "claim again", func() { w.ask(x) }),
			again(1, "release unsent", func() { x.stage = undone }),
			again(1, "intent lands, answer lost", func() { w.landIntent(x); x.stage = asking }),
			again(2, "intent under way", func() { w.lateIntent(x) }))
	case asking:
		return slices.Concat(again(3, "intend again", func() { w.intend(x) }), again(3, "undo lost intent", func() { w.undoLost(x) }), crash)
	case entitled:
		return slices.Concat(again(6, "fence", func() { w.fenceOrUndo(x) }), renew, undo, crash)
	case fenced:
		return slices.Concat(again(6, "send", func() { w.sendOrLookAgain(x) }), crash)
	case out:
		return slices.Concat(again(4, "hear", func() { w.answer(x) }), again(1, "time out", func() { w.hear(x, true, 0) }),
			again(1, "dial failure", func() { w.notOut(x) }), renew, crash)
	case heard:
		var next []step
		if w.mayGoOn(x) {
			next = slices.Concat(again(6, "switch", func() { w.switchTo(x) }),
				again(2, "switch lands, answer lost", func() { w.landSwitch(w.toNext(x), x.row.Round); x.stage = onward }),
				again(2, "switch under way", func() { w.lateSwitch(x) }))
		}
		return slices.Concat(next, again(5, "record", func() { w.record(x) }), renew, crash,
			again(2, "result lands, answer lost", func() { w.landResult(w.result(x), x.row.Round) }),
			again(2, "result under way", func() { w.lateResult(x) }))
	case onward:
		return slices.Concat(again(4, "switch again", func() { w.switchTo(x) }), renew, crash)
	case told:
		repeat := again(2, "settle", func() { w.end(x) })
		if w.action == push.WeChat && x.row.Status == push.Unknown && x.row.Owner == x.owner {
			repeat = slices.Concat(again(3, "repeat", func() { w.repeat(x) }), again(1, "repeat under way", func() { w.lateRepeat(x) }), repeat)
		}
		return slices.Concat(repeat, crash)
	case undone:
		return slices.Concat(again(4, "release", func() { w.end(x) }), crash)
	}
	return crash
}

// message gives an idle worker a record: the event, from now or long ago; or a retry message, published or forged.
func (w walk) message(x *worker) {
	var retry *push.Retry
	recorded := w.now
	last := w.log.Round(0)
	switch kind := w.draw(10, "message"); {
	case last != nil && last.Status.Settled() && kind < 6: // news, if the window is over
	case kind < 7 && len(w.published) > 0:
		r := w.published[len(w.published)-1-w.draw(min(2, len(w.published)), "which")]
		retry = &r
	case kind == 9:
		retry = &push.Retry{Round: 1 + w.draw(2, "round"), Attempt: 1 + w.draw(4, "attempt")}
	case kind < 8:
		recorded = w.start
	}
	w.take(x, retry, recorded)
	if all := providers(w.action); w.chance(25, "unhealthy") { // health decides for a new attempt
		x.intent.Provider = all[len(all)-1]
	}
	if w.chance(10, "no redis") { // rule (d): the row alone arbitrates
		w.did("claim skipped")
		x.stage = claimed
		return
	}
	w.did("claim " + map[push.Verdict]string{push.Granted: "granted", push.Duplicate: "duplicate", push.Busy: "busy"}[w.ask(x)])
}

func (w walk) fenceOrUndo(x *worker) {
	if !w.look(x) {
		w.did("fence closed")
		w.undo(x)
	}
}

// sendOrLookAgain lets the request leave. WeChat rests on the fence being just before it.
func (w walk) sendOrLookAgain(x *worker) {
	if w.action == push.WeChat && w.now.Sub(x.fence) > wechatFlight {
		w.fenceOrUndo(x)
		return
	}
	w.send(x)
	if w.action == push.Notify && w.chance(20, "template") {
		x.class = push.Permanent
	}
}

// answer is the usual end of a request.
func (w walk) answer(x *worker) {
	w.arrive(x.flight, w.chance(50, "accept"))
	refusals := []push.Class{push.NotSent, push.NotSent, push.Throttled, push.Account, push.Permanent}
	w.hear(x, w.chance(25, "answer lost"), refusals[w.draw(len(refusals), "refusal")])
	w.did("heard " + x.class.String())
}

// lateIntent sends an intent that lands some time later, if ever; the worker hears nothing.
func (w walk) lateIntent(x *worker) {
	frozen := *x
	w.late = append(w.late, write{"intent", func() { w.landIntent(&frozen) }})
	x.stage = asking
}

func (w walk) lateResult(x *worker) {
	result, round := w.result(x), x.row.Round
	w.late = append(w.late, write{"result", func() {
		if result.ID != 0 {
			w.landResult(result, round)
		}
	}})
}

func (w walk) lateSwitch(x *worker) {
	next, round := w.toNext(x), x.row.Round
	w.late = append(w.late, write{"switch", func() { w.landSwitch(next, round) }})
	x.stage = onward
}

func (w walk) lateRepeat(x *worker) {
	held, round := w.held(x), x.row.Round
	w.late = append(w.late, write{"repeat", func() { w.landRepeat(held, round) }})
}

// network lets one write land that nobody waits for.
func (w walk) network() {
	if len(w.late) == 0 {
		return
	}
	i := w.draw(len(w.late), "write")
	late := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	w.did("late " + late.what)
	late.land()
}

// farSide lets a request arrive, perhaps long after its sender gave it up.
func (w walk) farSide() {
	pending := slices.DeleteFunc(slices.Clone(w.provider.Flights), func(f *Flight) bool { return f.Fate != Pending })
	if len(pending) == 0 {
		return
	}
	w.did("arrival")
	w.arrive(pending[w.draw(len(pending), "request")], w.chance(70, "accept"))
}

func (w walk) anyStepOfAPass() {
	if w.chance(50, "whole") {
		w.did("pass")
		w.compensate()
		return
	}
	steps := w.compensator(w.chance(15, "dies before it publishes"))
	names := slices.Sorted(maps.Keys(steps))
	name := names[w.draw(len(names), "rule")]
	w.did(name)
	steps[name]()
}

func (w walk) time() {
	const minute = time.Minute
	waits := slices.Concat(slices.Repeat([]time.Duration{minute, minute, 2 * minute, 3 * minute}, 6),
		[]time.Duration{5 * minute, 10 * minute, 17 * minute, time.Hour, 25 * time.Hour, 73 * time.Hour})
	w.did("time")
	if last := w.log.Round(0); last != nil && last.Status.Settled() && w.chance(50, "the window ends") {
		w.pass(25 * time.Hour)
		return
	}
	w.pass(waits[w.draw(len(waits), "minutes")])
}

func (w walk) redisFails() {
	steps := []step{{"redis forgets", w.forget}, {"redis copies", w.remember}, {"redis copies", w.remember}, {"redis goes back", w.goBack}, {"redis clock set back", w.setBack}}
	s := steps[w.draw(len(steps), "redis")]
	w.did(s.name)
	s.do()
}

// property is a walk over one delivery of one channel, and then its good end.
func property(r reality, rules Rules, action push.Action, tally map[string]int) func(*rapid.T) {
	return func(t *rapid.T) {
		w := walk{world: newWorld(t, r, rules, action), t: t}
		for _, name := range []string{"a", "b", "c"} {
			w.workers = append(w.workers, &worker{name: name})
		}
		if w.chance(25, "expires") {
			w.event.ExpiresAt = w.start.Add(20*time.Minute + 30*time.Second)
		}
		if w.chance(25, "not before") {
			w.event.NotBefore = w.start.Add(6*time.Minute + 30*time.Second)
		}
		t.Repeat(map[string]func(*rapid.T){"": func(*rapid.T) { w.check() }, "step": func(*rapid.T) { w.anybody() }})
		w.ends()
		for name, n := range w.steps {
			tally[name] += n
		}
	}
}

// ends lets all go well from here: nothing fails any more, the message comes once more and the compensator comes by.
// Then the delivery must come to its end: nothing is lost.
func (w walk) ends() {
	for _, late := range w.late {
		late.land()
	}
	x := &worker{name: "last"}
	w.workers = []*worker{x}
	for range 12 {
		w.deliver(x, nil)
		w.pass(11 * time.Hour)
		w.compensate()
		for _, retry := range slices.Clone(w.published) {
			w.deliver(x, &retry)
		}
		w.check()
		if len(w.log.Rows) > 0 && w.log.Round(0).Status.Settled() {
			return
		}
	}
	w.Fatalf("no end: %d rows, the key %+v, the row %+v", len(w.log.Rows), w.key, w.log.Round(0))
}

// deliver takes a message all the way, and all goes well.
func (w walk) deliver(x *worker, retry *push.Retry) {
	w.take(x, retry, w.start)
	if w.ask(x) != push.Granted {
		return
	}
	if w.intend(x); x.stage == entitled {
		if !w.look(x) {
			w.undo(x)
			w.end(x)
			return
		}
		if w.send(x); x.stage == out {
			w.arrive(x.flight, true)
			w.hear(x, false, 0)
		}
		w.record(x)
	}
	w.end(x)
}

// anybody lets one of them all make a step. The draw is our own: rapid prefers some actions to others.
func (w walk) anybody() {
	x := w.workers[w.draw(len(w.workers), "who")]
	all := slices.Concat(
		slices.Repeat([]func(){func() { w.worker(x) }}, 7), slices.Repeat([]func(){func() { w.goesOn(x) }}, 4),
		slices.Repeat([]func(){w.time}, 3), slices.Repeat([]func(){w.anyStepOfAPass}, 4),
		[]func(){w.network, w.network, w.farSide, w.farSide, w.redisFails, func() { w.did("Q8"); w.repair() }})
	if w.chance(25, "helpful") {
		w.helps()
		return
	}
	all[w.draw(len(all), "what")]()
}

// helps does what brings the delivery on, so that walks get to the sends: what waits is queued, what is queued is sent.
func (w walk) helps() {
	last := w.log.Round(0)
	if last != nil && (last.Status == push.Failed || last.Status == push.Deferred || last.Status == push.Unknown) {
		w.did("pass")
		w.pass(3 * time.Minute)
		w.compensate()
		return
	}
	if last != nil && last.Status.Settled() {
		w.did("the window ends")
		w.pass(25 * time.Hour)
	}
	for _, x := range w.workers {
		if x.stage != idle {
			continue
		}
		if last != nil && last.Status == push.Queued {
			w.take(x, &push.Retry{Round: last.Round, Attempt: last.Attempt}, w.start)
		} else {
			w.take(x, nil, w.now)
		}
		if w.ask(x) == push.Granted {
			w.goesOn(x)
		}
		return
	}
}

// TestModel walks each channel, on both kinds of Redis.
func TestModel(t *testing.T) {
	t.Parallel()
	resend := rules()
	resend.SMS.Resend, resend.WeChat.Resend = true, true
	for _, c := range []struct {
		name   string
		redis  func(*testing.T) *redis.Options
		rules  Rules
		action push.Action
	}{
		{"notify", onMiniredis, rules(), push.Notify},
		{"sms", onRedis, rules(), push.SMS},
		{"sms on miniredis", onMiniredis, rules(), push.SMS},
		{"sms resend", onRedis, resend, push.SMS},
		{"wechat", onRedis, rules(), push.WeChat},
		{"wechat on miniredis", onMiniredis, rules(), push.WeChat},
		{"wechat resend", onMiniredis, resend, push.WeChat},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tally := make(map[string]int)
			rapid.Check(t, property(begin(t, c.redis(t)), c.rules, c.action, tally))
			total := 0
			for _, n := range tally {
				total += n
			}
			t.Logf("%d steps: %v", total, tally)
		})
	}
}

package protocol

import (
	"context"
	"testing"
	"time"

	"pusher/internal/push"
)

// The traces of docs/holes.md, on the real scripts and statements. Each step is held to the model as well, so a trace
// fails where reality first leaves the rules.

// trace begins a hole's delivery.
func trace(t *testing.T, action push.Action) *world {
	t.Helper()
	return newWorld(t, begin(t, onRedis(t)), rules(), action)
}

// on hands a message to a worker, which claims it.
func (w *world) on(name string, retry *push.Retry) *worker {
	w.Helper()
	x := &worker{name: name}
	w.workers = append(w.workers, x)
	w.take(x, retry, w.start)
	w.ask(x)
	return x
}

// sends takes a worker from its claim to a request that left.
func (w *world) sends(x *worker) *worker {
	w.Helper()
	if w.intend(x); x.stage != entitled {
		w.Fatalf("%s may not send", x)
	}
	if !w.look(x) {
		w.Fatalf("the fence of %s is closed", x)
	}
	w.send(x)
	return x
}

// gets is the answer to a worker's request, and the result that it writes.
func (w *world) gets(x *worker, class push.Class) {
	w.Helper()
	switch class {
	case push.Accepted:
		w.arrive(x.flight, true)
		w.hear(x, false, 0)
	case push.Ambiguous: // accepted, and the answer lost
		w.arrive(x.flight, true)
		w.hear(x, true, 0)
	default:
		w.arrive(x.flight, false)
		w.hear(x, false, class)
	}
	w.record(x)
}

// delivers sends a published attempt, and the recipient gets it.
func (w *world) delivers(name string, attempt int) {
	w.Helper()
	x := w.sends(w.on(name, &push.Retry{Round: 1, Attempt: attempt}))
	w.gets(x, push.Accepted)
	w.end(x)
	w.says(push.Sent, attempt)
	w.reached(1)
}

// does makes steps of the compensator.
func (w *world) does(rules ...string) {
	w.Helper()
	for _, rule := range rules {
		w.compensator(false)[rule]()
	}
	w.check()
}

// says checks the row; model and reality are compared as well.
func (w *world) says(status push.Status, attempt int) {
	w.Helper()
	w.check()
	r := w.log.Round(0)
	if r == nil || r.Status != status || r.Attempt != attempt {
		w.Fatalf("the row is %+v, want %s(%d)", r, status, attempt)
	}
}

// reached checks how often the recipient got the message.
func (w *world) reached(times int) {
	w.Helper()
	if got := w.provider.Told(1); got != times {
		w.Fatalf("the recipient got the message %d times, want %d", got, times)
	}
}

func TestHoleH01_IntentOverSending(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	a := w.on("w1", nil)
	w.intend(a)
	w.look(a) // past its fence, and frozen
	w.forget()
	b := w.on("w2", nil)
	w.intend(b)
	w.says(push.Sending, 1) // I4: the row lease runs
	w.end(b)
	w.pass(2 * time.Minute)
	b = w.on("w2", nil)
	w.intend(b)
	w.says(push.Unknown, 1) // I5: over, and it may have been sent
	w.end(b)
	w.send(a)
	w.gets(a, push.Accepted)
	w.says(push.Sent, 1)
	w.reached(1)
}

func TestHoleH02_ResultWithoutFence(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	a := w.sends(w.on("w1", nil))
	w.arrive(a.flight, false)
	w.hear(a, false, push.NotSent)
	w.landResult(w.result(a), 1) // its answer gets lost
	w.forget()
	w.pass(3 * time.Minute)
	w.does("Q1")
	b := w.sends(w.on("w2", &push.Retry{Round: 1, Attempt: 2}))
	w.arrive(b.flight, true)
	w.record(a) // w1 repeats its write
	w.says(push.Sending, 2)
	w.hear(b, true, 0)
	w.record(b)
	w.pass(3 * time.Minute)
	w.does("Q3", "Q6", "Q4", "Q1", "Q2")
	w.says(push.Unknown, 2)
	w.reached(1)
}

func TestHoleH03_RepeatForgetsTheFirstDoubt(t *testing.T) {
	t.Parallel()
	r := begin(t, onRedis(t))
	for _, class := range []push.Class{push.NotSent, push.Throttled, push.Account, push.Permanent} {
		w := newWorld(t, r, rules(), push.WeChat)
		a := w.sends(w.on("w1", nil))
		w.arrive(a.flight, true)
		a.crash()
		w.pass(2 * time.Minute)
		b := w.sends(w.on("w2", nil)) // I6
		w.gets(b, class)
		w.says(push.Unknown, 2)
		w.end(b)
		w.pass(10 * time.Minute)
		w.does("Q3", "Q6", "Q4", "Q1", "Q2", "Q7")
		w.says(push.Unknown, 2)
		w.reached(1)
	}
}

func TestHoleH04_WindowSlides(t *testing.T) {
	t.Parallel()
	w := trace(t, push.WeChat)
	a := w.sends(w.on("w1", nil))
	w.gets(a, push.Ambiguous)
	w.end(a)
	w.pass(5 * time.Minute)
	w.does("Q4")
	b := w.sends(w.on("w2", &push.Retry{Round: 1, Attempt: 2}))
	w.gets(b, push.Ambiguous)
	w.says(push.Unknown, 2)
	w.pass(6 * time.Minute) // 11 after the first, 6 after the second
	w.does("Q4")
	w.repeat(b)
	w.says(push.Unknown, 2)
	w.reached(1)
}

func TestHoleH05_WindowCheckedWhenQueued(t *testing.T) {
	t.Parallel()
	w := trace(t, push.WeChat)
	a := w.sends(w.on("w1", nil))
	w.gets(a, push.Ambiguous)
	w.end(a)
	w.pass(3 * time.Minute)
	w.does("Q4")
	w.says(push.Queued, 2)
	w.pass(9 * time.Minute) // the topic lags
	b := w.on("w2", &push.Retry{Round: 1, Attempt: 2})
	w.intend(b)
	w.says(push.Unknown, 2) // I3
	w.reached(1)
}

func TestHoleH07_OnlyTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	a := w.sends(w.on("w1", nil))
	w.gets(a, push.NotSent)
	w.end(a)
	w.remember() // failed(1)
	w.pass(3 * time.Minute)
	w.does("Q1")
	b := w.sends(w.on("w2", &push.Retry{Round: 1, Attempt: 2}))
	w.gets(b, push.NotSent)
	w.end(b)
	w.goBack() // a failover: failed(1) again
	w.pass(3 * time.Minute)
	w.does("Q1")
	w.delivers("w3", 3)
}

func TestHoleH08_RetryDiscardedOnTheKeysWord(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	a := w.sends(w.on("w1", nil))
	w.pass(2 * time.Minute)
	b := w.on("w2", nil)
	w.intend(b)
	w.end(b) // the key says unknown
	w.notOut(a)
	w.record(a) // the old owner proves it never left
	w.end(a)
	w.says(push.Failed, 1)
	w.pass(3 * time.Minute)
	w.does("Q1")
	w.delivers("w3", 2)
}

func TestHoleH09_AttemptReused(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	late := w.on("w0", nil)
	w.forget() // its intent is under way, and it died
	a := w.sends(w.on("w1", nil))
	w.gets(a, push.Throttled)
	w.end(a) // failed(1), no retry used
	w.pass(3 * time.Minute)
	w.does("Q1")
	w.says(push.Queued, 2)
	w.landIntent(late)
	w.says(push.Queued, 2)
	w.delivers("w2", 2)
}

func TestHoleH10_LetterLost(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	a := w.sends(w.on("w1", nil))
	w.gets(a, push.Permanent)
	w.end(a)
	a.crash()
	if again := w.on("w2", nil); again.stage != idle {
		t.Fatalf("%s took a message that is a duplicate", again)
	}
	written := 0
	write := func(done bool) {
		_, err := w.store.Letters(t.Context(), most, func(_ context.Context, due []push.Letter) ([]bool, error) {
			written += len(due)
			return make([]bool, len(due)), nil
		})
		if w.must(err); done {
			w.does("Q7")
		}
	}
	write(false) // the topic is away
	write(true)
	if write(false); written != 2 {
		t.Fatalf("the letter was due %d times, want 2: until it was written", written)
	}
}

func TestHoleH13_LostOwnerKnows(t *testing.T) {
	t.Parallel()
	r := begin(t, onRedis(t))
	for _, c := range []struct {
		name string
		word func(*world, *worker)
		want push.Status
	}{
		{"accepted", func(w *world, x *worker) { w.gets(x, push.Accepted) }, push.Sent},
		{"refused", func(w *world, x *worker) { w.gets(x, push.NotSent) }, push.Failed},
		{"permanent", func(w *world, x *worker) { w.gets(x, push.Permanent) }, push.Dead},
		{"never left", func(w *world, x *worker) { w.notOut(x); w.undo(x) }, push.Failed},
	} {
		w := newWorld(t, r, rules(), push.SMS)
		a := w.sends(w.on("w1", nil))
		w.pass(3 * time.Minute) // frozen
		w.does("Q3")
		w.says(push.Unknown, 1)
		c.word(w, a)
		w.says(c.want, 1)
		w.end(a)
		w.check()
	}
}

func TestHoleH14_TakeoverIsNoDoubt(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	a := w.sends(w.on("w1", nil))
	w.gets(a, push.NotSent)
	a.crash() // before it settled the key
	w.pass(2 * time.Minute)
	b := w.on("w2", nil)
	w.intend(b)
	w.says(push.Failed, 1)
	w.end(b)
	w.pass(2 * time.Minute)
	w.does("Q1")
	w.delivers("w3", 2)
}

func TestHoleH15_ExpiryOfWhatMayBeSent(t *testing.T) {
	t.Parallel()
	r := begin(t, onRedis(t))
	for _, action := range []push.Action{push.SMS, push.WeChat} {
		w := newWorld(t, r, rules(), action)
		w.event.ExpiresAt = w.start.Add(4*time.Minute + 30*time.Second)
		a := w.sends(w.on("w1", nil))
		w.arrive(a.flight, true)
		a.crash()
		w.pass(3 * time.Minute)
		if action == push.WeChat {
			w.does("Q3")
			w.says(push.Queued, 2)
		}
		w.pass(2 * time.Minute)
		w.does("Q6", "Q3", "Q6")
		if got := w.log.Round(0).Status; got != push.Unknown {
			t.Errorf("%s past its time and perhaps accepted is %s, want unknown", action, got)
		}
	}
}

func TestHoleH16_MainRecordRestarts(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	w.event.NotBefore = w.start.Add(90 * time.Second)
	duplicate := func(status push.Status, attempt int) {
		w.forget() // the same event again, by a producer's retry
		x := w.on("w2", nil)
		w.intend(x)
		w.says(status, attempt)
		w.end(x)
	}
	x := w.on("w1", nil)
	w.intend(x)
	w.end(x)
	duplicate(push.Deferred, 0)
	w.pass(2 * time.Minute)
	w.does("Q1")
	duplicate(push.Queued, 1)
	x = w.sends(w.on("w1", &push.Retry{Round: 1, Attempt: 1}))
	w.gets(x, push.NotSent)
	w.end(x)
	duplicate(push.Failed, 1)
	w.pass(3 * time.Minute)
	w.does("Q1")
	duplicate(push.Queued, 2)
	w.delivers("w3", 2)
	duplicate(push.Sent, 2)
}

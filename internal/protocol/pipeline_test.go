package protocol

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/deliver"
	"pusher/internal/push"
	"pusher/internal/store"
)

// The holes that lie in the worker itself are played on internal/deliver, between the real scripts and statements.

// between stands between a pipeline and PostgreSQL.
type between struct {
	*store.Store

	afterIntent func([]push.Intent) error // nil: nothing happens
	beforeUndo  func()
}

func (b *between) Intend(ctx context.Context, intents []push.Intent) []push.Answer {
	if b.afterIntent == nil {
		return b.Store.Intend(ctx, intents)
	}
	answers := b.Store.Intend(ctx, intents)
	if err := b.afterIntent(intents); err != nil {
		for i := range answers {
			answers[i] = push.Answer{Err: err}
		}
	}
	return answers
}

func (b *between) Undo(ctx context.Context, held []push.Held) []push.Answer {
	if b.beforeUndo != nil {
		b.beforeUndo()
	}
	return b.Store.Undo(ctx, held)
}

// lossy does not let the intent through, and keeps it.
type lossy struct {
	*store.Store

	mu   sync.Mutex
	kept []push.Intent // guarded by mu
	got  chan struct{} // an intent was kept
}

func (l *lossy) Intend(_ context.Context, intents []push.Intent) []push.Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	answers := make([]push.Answer, len(intents))
	for i, in := range intents {
		l.kept = append(l.kept, in)
		answers[i].Err = errors.New("connection lost")
	}
	select {
	case l.got <- struct{}{}:
	default:
	}
	return answers
}

// counter is a provider that accepts everything.
type counter struct{ sent atomic.Int32 }

func (c *counter) Provider() string { return "provider" }

func (*counter) Serves(string) bool { return true }

func (*counter) Enter(context.Context, push.Message) (leave func(error), err error) {
	return func(error) {}, nil
}

func (c *counter) Send(context.Context, push.Message) (push.Acceptance, error) {
	c.sent.Add(1)
	return push.Acceptance{Provider: "provider", MessageID: "m1"}, nil
}

// silent is a Meter that keeps nothing.
type silent struct{}

func (silent) Duplicate(push.Action, string)                          {}
func (silent) Attempt(push.Action, string, push.Class, time.Duration) {}
func (silent) Row(push.Action, string, push.Status)                   {}
func (silent) Switched(push.Action, string, string)                   {}
func (silent) LeaseLost(push.Action)                                  {}
func (silent) Ended(push.Action, push.Result)                         {}
func (silent) Takeover(push.Action)                                   {}

// clock is a worker's own: this machine's, and as far ahead as the test says.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// pipeline starts a worker; close ends it and waits.
func (w *world) pipeline(t *testing.T, c *clock, sender deliver.Sender, intents deliver.Intents, results deliver.Results) (d *deliver.Deliverer, closeIt func()) {
	t.Helper()
	d = deliver.New(deliver.Config{
		Pushes: map[string]deliver.Push{"resume_viewed": {
			Rule:    push.Rule{BizType: "resume_viewed", Window: w.Window, Zone: time.UTC},
			Actions: []push.Action{w.action},
		}},
		RetryTopic: "retry", InFlight: 4, Waiting: 8, WaitingBytes: 1 << 20,
		Lease: w.Lease, Window: w.Window, Call: 10 * time.Second,
		Backoff: push.Backoff{MaxAttempts: w.MaxAttempts, First: time.Minute, Factor: 2, Max: time.Hour},
		Channels: map[push.Action]deliver.Channel{
			w.action: {Senders: []deliver.Sender{sender}, Timeout: w.SMS.Timeout, ResendWithin: w.ResendWithin},
		},
		PhoneRegion: "CN", Worker: "test", Meter: silent{}, Log: zerolog.Nop(), Now: c.now,
	}, w.keys, intents, results)
	closeIt = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Errorf("closing the pipeline: %v", err)
		}
	})
	t.Cleanup(closeIt)
	return d, closeIt
}

// hand gives the pipeline the event and returns how it ends.
func (w *world) hand(t *testing.T, d *deliver.Deliverer) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	record := push.Record{
		Origin: push.Origin{Topic: "push-events", Time: time.Now()},
		Value: []byte(`{"biz_type":"resume_viewed","biz_id":10248,` +
			`"recipient":{"user_id":"u1","phone":"13800138000","openid":"oOPENID1234"},"params":{"company":"ACME"}}`),
	}
	if err := d.Handle(t.Context(), record, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	return done
}

// rowIs checks the only row, and that the key says what it must.
func (w *world) rowIs(status push.Status, attempt, retriesUsed int, key push.KeyState) {
	w.Helper()
	rows := w.stored()
	if len(rows) != 1 || push.Status(rows[0].Status) != status || rows[0].Attempt != attempt || rows[0].RetriesUsed != retriesUsed {
		w.Fatalf("the rows are %+v, want one %s(%d) with %d retries used", rows, status, attempt, retriesUsed)
	}
	info, err := w.keys.Inspect(w.ctx(), w.id().Key())
	w.must(err)
	if info.State != key {
		w.Fatalf("the key says %v, want %v", info.State, key)
	}
}

func TestHoleH06_FrozenBeforeTheFence(t *testing.T) {
	t.Parallel()
	w := trace(t, push.WeChat)
	first, second := &clock{}, &clock{}
	sender := &counter{}
	other, _ := w.pipeline(t, second, sender, w.store, w.store)
	frozen := &between{Store: w.store, afterIntent: func([]push.Intent) error {
		w.forget()
		w.pass(2 * time.Minute)
		if err := <-w.hand(t, other); err != nil { // takes over, sends, accepted
			t.Errorf("the other worker: %v", err)
		}
		first.pass(12 * time.Minute)
		return nil
	}}
	d, _ := w.pipeline(t, first, sender, frozen, w.store)
	if err := <-w.hand(t, d); err != nil {
		t.Fatal(err)
	}
	if n := sender.sent.Load(); n != 1 {
		t.Errorf("%d requests left, want 1: the frozen worker's fence is closed", n)
	}
	w.rowIs(push.Sent, 2, 1, push.KeySuccess)
}

func TestHoleH11_GivenBackWithoutTheRow(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	c, sender := &clock{}, &counter{}
	slow := &between{
		Store:       w.store,
		afterIntent: func([]push.Intent) error { c.pass(2 * time.Minute); return nil },
		beforeUndo: func() { // the row first, then the key
			if info, err := w.keys.Inspect(context.Background(), w.id().Key()); err != nil || info.State != push.KeyProcessing {
				t.Errorf("the key says %v (%v) before the row is undone, want processing", info.State, err)
			}
		},
	}
	d, _ := w.pipeline(t, c, sender, slow, slow)
	if err := <-w.hand(t, d); err != nil {
		t.Fatal(err)
	}
	if n := sender.sent.Load(); n != 0 {
		t.Errorf("%d requests left, want none", n)
	}
	w.rowIs(push.Failed, 1, 0, push.KeyAbsent)
}

func TestHoleH12_IntentLandsAfterRelease(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	sender, away := &counter{}, &lossy{Store: w.store, got: make(chan struct{}, 1)}
	d, closeIt := w.pipeline(t, &clock{}, sender, away, w.store)
	done := w.hand(t, d)
	<-away.got
	d.Quiesce()
	<-done
	closeIt()
	w.rowIs(push.Failed, 1, 0, push.KeyAbsent) // the tombstone of U2
	for _, late := range away.kept {
		w.must(w.store.Intend(t.Context(), []push.Intent{late})[0].Err)
	}
	w.rowIs(push.Failed, 1, 0, push.KeyAbsent) // no orphan that may be going out
}

// The same of a queued attempt, on the statements alone.
func TestHoleH12_RetryIntentLandsAfterRelease(t *testing.T) {
	t.Parallel()
	w := trace(t, push.SMS)
	a := w.on("w1", nil)
	w.undoLost(a)
	w.end(a)
	w.does("Q1")
	b := w.on("w2", &push.Retry{Round: 1, Attempt: 2})
	w.undoLost(b)
	w.end(b)
	w.says(push.Failed, 2)
	w.take(b, &push.Retry{Round: 1, Attempt: 2}, w.start)
	w.landIntent(b)
	w.says(push.Failed, 2)
	w.does("Q1")
	w.delivers("w3", 3)
}

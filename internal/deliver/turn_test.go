package deliver

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestDeliveryGoesClaimIntentSendResultSettle(t *testing.T) {
	t.Parallel()
	w := newWorld()
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	want := []string{"claim", "intend", "send", "record", "settle"}
	if !slices.Equal(w.calls, want) {
		t.Errorf("calls = %v, want %v", w.calls, want)
	}
	if got := w.row(t).Status; got != push.Sent {
		t.Errorf("row is %s, want sent", got)
	}
	if to := w.sent[0].Recipient; to != "+8613800138000" {
		t.Errorf("sent to %q, want the phone in E.164", to)
	}
}

func TestRuleC2DuplicateIsDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	d := w.start(t, w.config())
	for range 2 {
		if err := handle(t, d, "sms"); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.sent) != 1 {
		t.Errorf("%d sends, want 1", len(w.sent))
	}
}

func TestRowDecidesWhenRedisGrantsEverybody(t *testing.T) {
	t.Parallel()
	w := newWorld()
	d := w.start(t, w.config())
	for range 2 {
		if err := handle(t, d, "sms"); err != nil {
			t.Fatal(err)
		}
		clear(w.keys) // Redis forgets
	}
	if len(w.sent) != 1 {
		t.Errorf("%d sends, want 1", len(w.sent))
	}
}

func TestRuleC6BusyKeepsTheMessageUntilTheRowIsSettled(t *testing.T) {
	t.Parallel()
	w := newWorld()
	key := push.Identity{BizType: "viewed", RuleVersion: "v1", DedupID: "1", Action: push.SMS}.Key()
	w.keys[key], w.owners[key] = push.KeyProcessing, "other"
	d := w.start(t, w.config())
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), record("sms"), func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return w.count("claim") >= 3 })
	select {
	case <-done:
		t.Fatal("the record was done while no row existed")
	default:
	}
	w.mu.Lock()
	w.rows[key] = &push.Row{ID: 1, Round: 1, Attempt: 1, Status: push.Sent}
	w.mu.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(w.sent) != 0 {
		t.Error("a busy delivery was sent")
	}
}

func TestRuleI4RowHeldByAnotherKeepsTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld()
	looks := 0
	w.takeOver = func(r *push.Row) {
		if looks++; looks < 3 {
			r.Owner, r.LeaseLeft = "other", time.Minute
			return
		}
		r.Status = push.Sent
	}
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if len(w.sent) != 0 || w.count("release") != 2 {
		t.Errorf("%d sends and %d releases, want 0 and 2", len(w.sent), w.count("release"))
	}
}

func TestRuleI9IntentIsRepeatedUntilAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["intend"], w.landed = 2, true
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if w.count("intend") != 3 || w.count("claim") != 1 || len(w.sent) != 1 {
		t.Errorf("calls = %v, want one claim, three intents, one send", w.calls)
	}
}

// The intent lands, its answer is lost for so long that the row is swept: nothing has left, so nobody is in doubt.
func TestHoleH13OwnAttemptSweptBeforeItsIntentIsAnsweredIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["intend"], w.landed = 2, true
	w.takeOver = func(row *push.Row) { row.Status = push.Unknown }
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t).Status; got != push.Failed || len(w.sent) != 0 {
		t.Errorf("row is %s after %d sends, want failed, due again, without one", got, len(w.sent))
	}
	undo, release := slices.Index(w.calls, "undo"), slices.Index(w.calls, "release")
	if undo < 0 || release < undo {
		t.Errorf("calls = %v, want the row undone before the key is released", w.calls)
	}
}

func TestRuleU2QuiesceWithAnIntentInDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["intend"] = 1 << 20
	d := w.start(t, w.config())
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), record("sms"), func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return w.count("intend") >= 1 })
	d.Quiesce()
	<-done
	if got := w.row(t).Status; got != push.Failed {
		t.Errorf("row is %s, want failed", got)
	}
	undo, release := slices.Index(w.calls, "undo lost"), slices.Index(w.calls, "release")
	if undo < 0 || release < undo {
		t.Errorf("calls = %v, want the tombstone before the release", w.calls)
	}
}

func TestClaimUnansweredIsRepeatedByTheSameOwner(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["claim"] = 2
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if len(w.sent) != 1 {
		t.Errorf("%d sends, want 1", len(w.sent))
	}
}

// The lease counts from before the call that was answered, not from the first one: whoever waited for Redis for longer
// than a lease has all of it left.
func TestClaimThatWaitedLongerThanALeaseIsSent(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["claim"] = 1
	c := newClock()
	cfg := w.config()
	cfg.Now = c.now
	d := New(cfg, &slowKeys{world: w, clock: c, takes: cfg.Lease}, w, results{w})
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	if err := handle(t, d, "sms"); err != nil {
		t.Fatal(err)
	}
	if len(w.sent) != 1 || w.count("undo") != 0 {
		t.Errorf("%d sends and %d undos, want 1 and 0", len(w.sent), w.count("undo"))
	}
}

// slowKeys is a Redis whose unanswered claims take time.
type slowKeys struct {
	*world

	clock *clock
	takes time.Duration
}

func (k *slowKeys) Claim(ctx context.Context, claims []push.Claim) []push.Grant {
	grants := k.world.Claim(ctx, claims)
	for _, g := range grants {
		if g.Err != nil {
			k.clock.pass(k.takes)
		}
	}
	return grants
}

// The answer to the first claim is lost; the generation ends while the second one waits behind a batch that hangs.
func TestClaimGivenUpInItsQueueIsReleased(t *testing.T) {
	t.Parallel()
	w := newWorld()
	k := &hangingKeys{world: w, hang: make(chan struct{})}
	d := New(w.config(), k, w, results{w})
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	k.meanwhile = func() { // whose batch leaves before the first one is asked again
		if err := d.Handle(ctx, record("wechat"), func(err error) { done <- err }); err != nil {
			t.Error(err)
		}
	}
	if err := d.Handle(ctx, record("sms"), func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return k.calls.Load() == 2 && d.claims.waiting() == 1 })
	cancel()
	if err := <-done; !errors.Is(err, ErrKept) {
		t.Errorf("the record ended with %v, want ErrKept", err)
	}
	if w.count("release") != 1 {
		t.Errorf("%d releases, want 1 of the claim that landed", w.count("release"))
	}
	close(k.hang)
	<-done
}

// hangingKeys is a Redis that loses the answer to the first claim, and hangs at the next.
type hangingKeys struct {
	*world

	calls     atomic.Int32
	meanwhile func()
	hang      chan struct{}
}

func (k *hangingKeys) Claim(ctx context.Context, claims []push.Claim) []push.Grant {
	if k.calls.Add(1) == 1 {
		k.world.Claim(ctx, claims)
		k.meanwhile()
		return []push.Grant{{Err: errAway}}
	}
	<-k.hang
	return k.world.Claim(ctx, claims)
}

// waiting is how many calls are in no batch.
func (b *batcher[Q, A]) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

func TestResultIsWrittenUntilItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["record"] = 3
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if w.count("record") != 4 || len(w.sent) != 1 {
		t.Errorf("%d results and %d sends, want 4 and 1", w.count("record"), len(w.sent))
	}
}

func TestQuiesceNeverCancelsAResult(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["record"] = 2
	d := w.start(t, w.config())
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	if err := d.Handle(ctx, record("sms"), func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return w.count("record") >= 1 })
	cancel()
	d.Quiesce()
	<-done
	if got := w.row(t).Status; got != push.Sent {
		t.Errorf("row is %s, want sent", got)
	}
}

func TestSettleUnansweredDoesNotHoldTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["settle"] = 1 << 20
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if w.count("settle") != keyTries {
		t.Errorf("%d settles, want %d", w.count("settle"), keyTries)
	}
}

func TestRecordOfAnEndedGenerationIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["claim"] = 1 << 20
	d := w.start(t, w.config())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	if err := d.Handle(ctx, record("sms"), func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return w.count("claim") >= 1 })
	cancel()
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrKept) {
		t.Errorf("the record ended with %v, want ErrKept: nothing looks after it", err)
	}
}

func TestPanickingSenderIsAmbiguous(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.answer = func(push.Message) (push.Acceptance, error) { panic("boom") }
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t).Status; got != push.Unknown {
		t.Errorf("row is %s, want unknown", got)
	}
}

func TestInAppThatFailsBeforeItsCommitIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.provider = "inbox"
	w.answer = func(push.Message) (push.Acceptance, error) { panic("boom") }
	cfg := w.config()
	cfg.Pushes["viewed"] = Push{Rule: cfg.Pushes["viewed"].Rule, Actions: []push.Action{push.Notify}}
	if err := handle(t, w.start(t, cfg), "notify"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t).Status; got != push.Failed {
		t.Errorf("row is %s, want failed: nothing repeats an unknown in-app message", got)
	}
}

func TestUnclassifiedErrorIsAmbiguous(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.answer = func(push.Message) (push.Acceptance, error) { return push.Acceptance{}, errors.New("who knows") }
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t).Status; got != push.Unknown || len(w.sent) != 1 {
		t.Errorf("row is %s after %d sends, want unknown after 1", got, len(w.sent))
	}
}

package protocol

import (
	"fmt"
	"time"

	"pusher/internal/push"
)

// stage is where a worker stands: what it may do next.
type stage int

const (
	idle     stage = iota
	claimed        // the key is its own, or Redis is not asked
	asking         // an intent went out and was not answered
	entitled       // sending(me, n) is committed
	fenced         // the last look was good
	out            // the request left
	heard          // it knows what became of it, or that nobody knows
	onward         // a switch went out and was not answered: like an intent it is repeated until it is
	told           // the row has answered: the key is to be settled
	undone         // the row is given back: the key is to be released
)

// worker is one claim of the delivery on its way.
type worker struct {
	name   string
	turn   int
	stage  stage
	owner  string
	intent Intent   // by the model's clock
	row    push.Row // the row's last word to it
	leased time.Time
	asked  time.Time // when the answer was got that tells the window left
	fence  time.Time // when the last look was
	flight *Flight
	class  push.Class
}

func (x *worker) String() string {
	return fmt.Sprintf("%s at stage %d, row %s(%s,%d)", x.owner, x.stage, x.row.Status, x.row.Owner, x.row.Attempt)
}

// crash is the worker's death: another life with another token begins.
func (x *worker) crash() { *x = worker{name: x.name, turn: x.turn} }

// take gives a worker a message, main if retry is nil, and a token of its own.
func (w *world) take(x *worker, retry *push.Retry, recorded time.Time) {
	x.crash()
	x.turn++
	x.owner = fmt.Sprintf("%s.%d", x.name, x.turn)
	x.intent = w.event
	x.intent.Owner, x.intent.Retry, x.intent.RecordTime = x.owner, retry, recorded
	x.intent.Provider = providers(w.action)[0]
	x.leased = w.now
}

// ask claims the key for the message that a worker has, and follows the answer.
func (w *world) ask(x *worker) push.Verdict {
	w.Helper()
	x.leased = w.now
	grant := w.claim(x)
	x.stage = idle
	switch grant.Verdict {
	case push.Granted:
		x.stage = claimed
	case push.Duplicate:
		if len(w.log.Rows) == 0 { // invariant (g): the message is dropped
			w.Fatalf("%s drops its message on the key's word %v, and there is no row", x, grant.Before)
		}
	case push.Busy:
	}
	return grant.Verdict
}

// intended is the worker's intent as the store takes it.
func (w *world) intended(x *worker) push.Intent {
	return push.Intent{
		Delivery: &push.Delivery{
			Identity: w.id(), BizID: "10248", Retry: x.intent.Retry, Window: w.Window,
			Event: &push.Event{
				Recipient: push.Recipient{UserID: "u1"}, Raw: []byte(`{"biz_type":"resume_viewed","biz_id":10248}`),
				NotBefore: w.realTime(x.intent.NotBefore), ExpiresAt: w.realTime(x.intent.ExpiresAt),
			},
			Origin: push.Origin{Topic: "push-events", Time: w.realTime(x.intent.RecordTime)},
		},
		Owner: x.owner, Lease: w.Lease, Provider: x.intent.Provider, RecipientFull: "u1",
		ResendWithin: w.ResendWithin, MaxAttempts: w.MaxAttempts,
	}
}

// intend writes the intent and follows the answer: rules I1 to I8.
func (w *world) intend(x *worker) {
	w.Helper()
	x.row = w.landIntent(x)
	x.asked = w.now
	switch {
	case x.row.MayBeSent(x.owner):
		x.stage = entitled
	case x.row.HeldByOther(x.owner):
		x.stage = undone // I4: nothing was changed; the message is kept
	default:
		x.stage = told
	}
}

// landIntent is the intent at PostgreSQL, answered or not.
func (w *world) landIntent(x *worker) push.Row {
	w.Helper()
	answer := w.store.Intend(w.ctx(), []push.Intent{w.intended(x)})[0]
	w.must(answer.Err)
	w.sameRow(answer.Row, w.log.Intend(x.intent))
	return answer.Row
}

// undoLost defeats an intent whose answer got lost: rule U2.
func (w *world) undoLost(x *worker) {
	w.Helper()
	answer := w.store.UndoLost(w.ctx(), []push.Intent{w.intended(x)})[0]
	w.must(answer.Err)
	w.sameRow(answer.Row, w.log.UndoLost(x.intent))
	x.row, x.stage = answer.Row, undone
}

// look is the fence, by the worker's own clock: rule F1.
func (w *world) look(x *worker) bool {
	left := w.Lease - w.now.Sub(x.leased)
	timeout := w.SMS.Timeout
	if x.row.Ambiguous && w.action == push.WeChat {
		left = min(left, w.ResendWithin-x.row.AmbiguousAge-w.now.Sub(x.asked))
	}
	if left < timeout {
		return false
	}
	x.fence, x.stage = w.now, fenced
	return true
}

// held is the attempt that a worker has in hand.
func (w *world) held(x *worker) push.Held {
	return push.Held{ID: x.row.ID, Owner: x.owner, Attempt: x.row.Attempt, Lease: w.Lease, ResendWithin: w.ResendWithin, MaxAttempts: w.MaxAttempts}
}

// undo gives the attempt back: rule U1.
func (w *world) undo(x *worker) {
	w.Helper()
	answer := w.store.Undo(w.ctx(), []push.Held{w.held(x)})[0]
	w.must(answer.Err)
	r := w.log.Round(x.row.Round)
	w.log.Undo(r, x.owner, x.row.Attempt)
	w.sameRow(answer.Row, r)
	x.row, x.stage = answer.Row, undone
}

// send lets the request leave. An in-app message has none: it goes with the result.
func (w *world) send(x *worker) {
	if w.action == push.Notify {
		x.class, x.stage = push.Accepted, heard
		return
	}
	x.flight, x.stage = w.provider.Send(x.row.Round, x.row.Attempt, x.row.Provider, x.fence), out
}

// arrive is a request at its provider.
func (w *world) arrive(f *Flight, accept bool) {
	if f.Fate == Pending {
		w.provider.Arrive(f, accept)
	}
}

// hear is the answer: what became of the request, or with lost nobody knows.
func (w *world) hear(x *worker, lost bool, refusal push.Class) {
	x.stage, x.class = heard, push.Ambiguous
	switch {
	case lost:
	case x.flight.Fate == Taken:
		x.class = push.Accepted
	case x.flight.Fate == Refused:
		x.class = refusal
	}
}

// notOut is proof that nothing left: a dial failure.
func (w *world) notOut(x *worker) {
	if x.flight.Fate == Pending {
		x.flight.Fate = NeverOut
		x.stage, x.class = heard, push.NotSent
	}
}

// retryWait is the backoff that a refusal asks for.
const retryWait = 2*time.Minute + 30*time.Second

func (w *world) result(x *worker) push.Result {
	r := push.Result{ID: x.row.ID, Owner: x.owner, Attempt: x.row.Attempt, Class: x.class, Provider: x.row.Provider, Code: "code", Wait: retryWait}
	if w.action == push.Notify && x.class == push.Accepted {
		r.Inbox = &push.Inbox{UserID: "u1", Title: "title", Body: "body"}
	}
	return r
}

// record writes the result and follows the answer.
func (w *world) record(x *worker) {
	w.Helper()
	x.row = w.landResult(w.result(x), x.row.Round)
	x.stage = told
}

// landResult is a result at PostgreSQL, answered or not: rules P1 to P4.
func (w *world) landResult(result push.Result, round int) push.Row {
	w.Helper()
	answer := w.store.Record(w.ctx(), []push.Result{result})[0]
	w.must(answer.Err)
	r := w.log.Round(round)
	w.log.Record(r, result.Owner, result.Attempt, result.Class, result.Wait, result.Provider)
	w.sameRow(answer.Row, r)
	return answer.Row
}

// repeat begins the next attempt of an own ambiguous one: rule P4.
func (w *world) repeat(x *worker) {
	w.Helper()
	x.row = w.landRepeat(w.held(x), x.row.Round)
	x.asked = w.now
	if x.stage = told; x.row.MayBeSent(x.owner) {
		x.stage = entitled
	}
}

// providers are those of a channel, in order of preference.
func providers(a push.Action) []string {
	if a == push.SMS {
		return []string{"aliyun", "tencent"}
	}
	return []string{"provider"}
}

// mayGoOn reports whether a worker may take what it heard to the provider after its own: rule P5. It asks no more than
// the pipeline does; the statement guards the rest.
func (w *world) mayGoOn(x *worker) bool {
	switch x.class {
	case push.NotSent, push.Throttled, push.Account:
		return w.action == push.SMS && !x.row.Ambiguous && x.row.Provider == x.intent.Provider
	case push.Accepted, push.Permanent, push.Ambiguous:
	}
	return false
}

// toNext is the switch of what a worker heard to the other provider.
func (w *world) toNext(x *worker) push.Switch {
	next := providers(w.action)[0]
	if next == x.row.Provider {
		next = providers(w.action)[1]
	}
	return push.Switch{Result: w.result(x), Next: next, Lease: w.Lease}
}

// switchTo files the attempt and begins the next provider's; not granted, the result itself is to be written.
func (w *world) switchTo(x *worker) {
	w.Helper()
	leased := w.now
	row := w.landSwitch(w.toNext(x), x.row.Round)
	if row.MayBeSent(x.owner) && row.Attempt == x.row.Attempt+1 {
		x.row, x.stage, x.leased, x.asked = row, entitled, leased, leased
		return
	}
	w.record(x)
}

func (w *world) landSwitch(s push.Switch, round int) push.Row {
	w.Helper()
	answer := w.store.Switch(w.ctx(), []push.Switch{s})[0]
	w.must(answer.Err)
	r := w.log.Round(round)
	w.log.Switch(r, s.Owner, s.Attempt, s.Class, s.Next)
	w.sameRow(answer.Row, r)
	return answer.Row
}

func (w *world) landRepeat(h push.Held, round int) push.Row {
	w.Helper()
	answer := w.store.Repeat(w.ctx(), []push.Held{h})[0]
	w.must(answer.Err)
	r := w.log.Round(round)
	w.log.Repeat(r, h.Owner, h.Attempt)
	w.sameRow(answer.Row, r)
	return answer.Row
}

// renew is the watchdog's turn: rule N1. Once there is a row, the row decides.
func (w *world) renew(x *worker) {
	w.Helper()
	w.renewKey(x)
	if x.row.ID == 0 {
		return
	}
	answer := w.store.Renew(w.ctx(), []push.Held{w.held(x)})[0]
	w.must(answer.Err)
	want := w.log.Renew(w.log.Round(x.row.Round), x.owner, x.row.Attempt)
	if answer.Mine != want {
		w.Fatalf("the renewal of %s's row was answered %v, want %v", x, answer.Mine, want)
	}
	if want {
		x.leased = w.now
	}
}

// end settles or releases the key; the worker is free again. It reports whether its message may go.
func (w *world) end(x *worker) bool {
	w.Helper()
	if x.stage == undone {
		w.release(x)
	} else {
		w.settle(x)
	}
	taken := x.row.Exists() && (x.row.Status != push.Sending || x.row.Owner != x.owner)
	if x.stage == told && x.intent.Retry == nil && !taken {
		w.Fatalf("invariant (g): %s lets its message go", x)
	}
	x.crash()
	return taken
}

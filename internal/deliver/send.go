package deliver

import (
	"fmt"
	"math/rand/v2"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// send makes the first attempt of a row that is ours. An acceptance is written, and the turn goes on as that is answered;
// anything else steps aside.
func (t *turn) send(row push.Row) {
	t.hold.sending(t.held(row))
	if !t.share() {
		if t.d.isStopping() {
			t.finish(t.undo(row))
		} else {
			t.finish(t.record(t.crowded(row)))
		}
		return
	}
	result, left := t.attempt(row)
	if left && result.Class == push.Accepted {
		t.result = result
		t.d.results.post(t.d.life, t.span, result, (*atResult)(t))
		return
	}
	t.aside(func() { t.finish(t.follow(row, result, left)) })
}

// recorded follows the answer to an acceptance.
func (t *turn) recorded(answer push.Answer, err error) {
	switch {
	case err != nil:
		t.finish(push.Row{}, false)
	case answer.Err != nil:
		t.aside(func() { t.finish(t.recordAgain(t.result, answer.Err)) })
	default:
		t.decided(t.result, answer.Row)
		t.finish(answer.Row, true)
	}
}

// follow takes a row whose attempt was not accepted to its result: each further attempt of it is fenced, sent, and
// written; one claim makes more than one where a rule takes it on (see onward). left is false when nothing of the
// attempt left and it is to be undone. It returns the row's last word, and false when the process ended before there
// was one.
func (t *turn) follow(row push.Row, result push.Result, left bool) (push.Row, bool) {
	for repeats := 0; ; repeats++ {
		if !left {
			return t.undo(row)
		}
		var more, answered bool
		if row, more, answered = t.onward(row, result, repeats); !more {
			return row, answered
		}
		result, left = t.attempt(row)
	}
}

// attempt makes one attempt of what the row says; see try.
func (t *turn) attempt(row push.Row) (push.Result, bool) {
	t.hold.sending(t.held(row))
	message, err := t.message(row)
	if err != nil {
		return t.failed(row, &push.Failure{Class: push.Permanent, Code: "event_unreadable", Err: err}), true
	}
	return t.try(row, message)
}

// onward writes what the attempt came to, and begins the next one of this very claim where a rule lets it: the next
// provider's (rule P5), or the repeat of an ambiguous one inside its window (rule P4). more says that it did.
func (t *turn) onward(row push.Row, result push.Result, repeats int) (last push.Row, more, answered bool) {
	if next := t.next(row, result); next != nil {
		if last, answered = t.switchTo(row, result, next); !answered || goesOn(row, last, t.owner) {
			return last, answered, answered
		}
		if last.Status == push.Unknown && last.Owner == t.owner && last.Attempt == row.Attempt+1 {
			last, answered = t.undo(last) // swept while the switch's answer was lost: nothing of it has left (rule U1)
			return last, false, answered
		}
	}
	if last, answered = t.record(result); !answered || !t.mayRepeat(last, repeats) {
		return last, false, answered
	}
	last, answered = t.repeat(last)
	return last, answered && last.MayBeSent(t.owner), answered
}

// try makes one attempt. Proof that nothing left is tried again at once a few times, each behind its own permission and
// fence. It reports false when nothing left and the caller is to undo the row (rule U1): the fence is closed, or the
// process is to stop. What waited too long for a slot is given back to its schedule.
func (t *turn) try(row push.Row, message push.Message) (push.Result, bool) {
	leave, ok := t.slot()
	if !ok {
		return t.crowded(row), !t.d.isStopping()
	}
	defer leave()
	via := t.channel.named(row.Provider)
	if via == nil {
		return t.failed(row, noSender()), true
	}
	for n := 0; ; n++ {
		leave, refused := t.enter(via, message)
		if refused != nil {
			return t.failed(row, refused), !t.d.isStopping()
		}
		if fault.At(fault.Fence) != nil || !t.fence(row) {
			leave(push.ErrNotMade)
			return push.Result{}, false
		}
		accepted, err := t.call(via, message)
		leave(err)
		if s := t.d.shares[t.del.Action]; s != nil {
			s.heard(err)
		}
		if err == nil {
			return t.accepted(row, accepted), true
		}
		failure := push.FailureOf(err)
		if !failure.Unsent || failure.Class != push.NotSent || n >= t.d.cfg.InlineRetries {
			return t.failed(row, failure), true
		}
		if !t.d.pause(t.d.life, againFirst<<n) {
			return push.Result{}, false
		}
	}
}

// enter asks the sender for the permission to make one request. It is waited for as long as the lease leaves time for
// the request itself; an error that nobody classified is a refusal like any other, since nothing left.
func (t *turn) enter(via Sender, message push.Message) (leave func(error), refused *push.Failure) {
	ctx := briefly(t.d.open, t.lease.left()-t.channel.Timeout)
	defer ctx.end()
	leave, err := via.Enter(ctx, message)
	if err == nil {
		return leave, nil
	}
	refused = push.FailureOf(err)
	if refused.Class == push.Ambiguous {
		refused = &push.Failure{Class: push.Throttled, Scope: push.ScopeChannel, Code: codeBusy, Unsent: true, Err: err}
	}
	return nil, refused
}

// noSender is the failure of a delivery whose channel, or whose provider, is no longer configured.
func noSender() *push.Failure {
	return &push.Failure{Class: push.Permanent, Code: "action_not_configured", Message: "the channel is no longer configured"}
}

// fence is the last look before a request leaves (rule F1): enough of the lease left for the timeout, of the window
// too when the request repeats one that may have been accepted, and the event not past its time.
func (t *turn) fence(row push.Row) bool {
	if t.d.isStopping() || t.lease.left() < t.channel.Timeout {
		return false
	}
	now := t.d.cfg.Now()
	if row.Ambiguous && t.del.Action.Capability() == push.Windowed {
		if t.channel.ResendWithin-row.AmbiguousAge-elapsed(t.asked, now) < t.channel.Timeout {
			return false
		}
	}
	expires := t.del.Event.ExpiresAt
	return expires.IsZero() || now.Before(expires)
}

// call makes the request under the channel's timeout and measures it. A sender that panics may have sent.
func (t *turn) call(via Sender, message push.Message) (accepted push.Acceptance, err error) {
	ctx := briefly(t.d.life, t.channel.Timeout)
	defer ctx.end()
	t.d.held.sending.Add(1)
	defer t.d.held.sending.Add(-1)
	began := t.d.cfg.Now()
	span := t.span.part("send")
	defer func() {
		if r := recover(); r != nil {
			err = &push.Failure{Class: push.Ambiguous, Code: "panic", Message: fmt.Sprintf("the sender panicked: %T", r)}
		}
		class := push.Accepted
		if err != nil {
			class = push.FailureOf(err).Class
		}
		t.d.cfg.Meter.Attempt(t.del.Action, via.Provider(), class, t.d.cfg.Now().Sub(began))
		span.end(Facts{Provider: via.Provider(), Outcome: class.String(), Code: codeOf(err)})
	}()
	return sent(ctx, via, message)
}

// codeOf is the code of a send's error, "" of none.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return push.FailureOf(err).Code
}

// message says what to send. A retry, and the repeat of somebody else's attempt, send what the row remembers, not
// what a message claims: the provider's own dedup, and the reader, see one and the same message.
func (t *turn) message(row push.Row) (push.Message, error) {
	if row.Event != nil {
		remembered, err := push.Decode(push.Record{Value: row.Event, Origin: t.del.Origin})
		if err != nil {
			return push.Message{}, fmt.Errorf("reading the row's event: %w", err)
		}
		remembered.TraceParent = t.del.Event.TraceParent // a trace is of the message, not of the fact
		t.del.Event, t.intent.RecipientFull, t.vars = remembered, row.Recipient, nil
	}
	m := t.asMessage()
	m.Reference, m.Recipient = t.del.Reference(row.Round), t.intent.RecipientFull
	return m, nil
}

// asMessage is the message as far as it decides who can send it.
func (t *turn) asMessage() push.Message {
	if t.vars == nil {
		t.vars = t.del.Event.Vars()
	}
	return push.Message{BizType: t.del.BizType, Vars: t.vars}
}

func (t *turn) held(row push.Row) push.Held {
	return push.Held{
		ID: row.ID, Owner: t.owner, Attempt: row.Attempt, Lease: t.d.cfg.Lease,
		ResendWithin: t.channel.ResendWithin, MaxAttempts: t.d.cfg.Backoff.MaxAttempts,
	}
}

func (t *turn) accepted(row push.Row, a push.Acceptance) push.Result {
	return push.Result{
		ID: row.ID, Owner: t.owner, Attempt: row.Attempt, Class: push.Accepted,
		Provider: a.Provider, MessageID: a.MessageID, Inbox: a.Inbox,
	}
}

// failed says what a failure leads to; a wait that the provider named goes before our own backoff, and the shortest of
// those that were asked for in this turn before any other: whoever is ready first is tried first.
func (t *turn) failed(row push.Row, f *push.Failure) push.Result {
	wait := f.Wait
	if wait == 0 {
		wait = t.d.cfg.Backoff.Wait(row.RetriesUsed+1, rand.Float64())
	}
	if t.soonest > 0 {
		wait = min(wait, t.soonest)
	}
	text := f.Message
	if text == "" && f.Err != nil {
		text = f.Err.Error()
	}
	class := f.Class
	if class == push.Ambiguous && t.del.Action.Capability() == push.Transactional {
		class = push.NotSent // the commit of its result is the send: what failed before it reached nobody
	}
	return push.Result{
		ID: row.ID, Owner: t.owner, Attempt: row.Attempt, Class: class, Scope: f.Scope,
		Provider: row.Provider, Code: f.Code, Message: text, Wait: wait,
	}
}

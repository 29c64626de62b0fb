package deliver

import (
	"errors"
	"time"

	"pusher/internal/push"
)

// The steps in which this process looks again: at a dependency that is away, and at a claim that another owner holds.
const (
	againFirst = 100 * time.Millisecond
	againMost  = 5 * time.Second
	lookMost   = time.Second
)

// turn is one claim of a delivery and what follows from it. Its owner token is its own: never reused by another.
//
// Where all is well it goes on as the batchers have its answers, each step by the goroutine of the batch that brought
// the one before: begin, claimed, intended, recorded, settled. Only the send has a goroutine of its own. What has to
// wait, or asks again, steps aside into one, and comes back to the next step.
type turn struct {
	*flight

	owner   string
	channel Channel
	lease   *lease

	hold     *hold
	intent   push.Intent
	vars     map[string]string // of the event, for templates; nil until they are needed
	place    func()            // gives the delivery's part of its channel's room back; nil: it has none
	asked    time.Time         // when the answer was asked for that entitles to the present attempt
	tried    []string          // providers that refused it (rule P5)
	soonest  time.Duration     // the shortest wait that one of them asked for; 0: none
	released bool              // the key was given back: there is nothing left to settle
	result   push.Result       // an acceptance that is being written
	last     push.Row          // what the key is being settled by

	facts Facts // what the delivery's span says in the end
}

// ending is how a turn ends.
type ending struct {
	taken bool          // taken care of
	err   error         // refused for its own data
	again time.Duration // not 0: keep the message and look again after this
}

// The receivers of a turn's answers, each its next step.
type (
	atClaim  turn
	atIntent turn
	atResult turn
	atSettle turn
)

func (t *atClaim) answered(g push.Grant, err error)      { (*turn)(t).claimed(g, err) }
func (t *atIntent) answered(a push.Answer, err error)    { (*turn)(t).intended(a, err) }
func (t *atResult) answered(a push.Answer, err error)    { (*turn)(t).recorded(a, err) }
func (t *atSettle) answered(a push.KeyAnswer, err error) { (*turn)(t).settled(a, err) }

// end ends the turn.
func (t *turn) end(how ending) {
	if t.hold != nil {
		t.d.watchdog.drop(t.hold)
	}
	t.vacate()
	t.turned(t.facts, how)
}

// begin asks for the key.
func (t *turn) begin() {
	if t.d.isStopping() {
		t.end(ending{})
		return
	}
	t.d.claims.post(t.ctx, t.span, t.claim(), (*atClaim)(t))
}

func (t *turn) claim() push.Claim {
	return push.Claim{
		Key: t.key, Owner: t.owner, Retry: t.del.Retry,
		RecordTime: t.del.Origin.Time, Window: t.del.Window,
	}
}

// claimed follows the answer to the claim: who is granted writes the intent.
func (t *turn) claimed(grant push.Grant, err error) {
	switch {
	case err != nil: // the record's time was over before it was asked
		t.end(ending{})
	case grant.Err != nil:
		t.aside(func() { t.claimed(t.claimAgain(grant.Err)) })
	case grant.Verdict == push.Duplicate:
		t.duplicate("redis", grant.Before, push.Row{})
		t.end(ending{taken: true})
	case grant.Verdict == push.Busy:
		t.aside(func() { t.end(t.busy(grant)) })
	case t.d.isStopping(): // nothing is written yet: the record comes again, elsewhere
		t.aside(func() { t.release(); t.end(ending{}) })
	default:
		t.hold = &hold{key: push.KeyHold{Key: t.key, Owner: t.owner}, lease: t.lease}
		t.d.watchdog.watch(t.hold)
		t.intent = t.newIntent()
		t.asked = t.d.cfg.Now()
		t.d.intents.post(t.d.life, t.span, t.intent, (*atIntent)(t))
	}
}

// claimAgain asks for the key until it is answered, always as the same owner, so that a claim whose answer was lost is
// granted again (rule C5), with a lease that counts from before the call that is answered. It gives up when the record's
// time is over; a claim that may have landed is released then. The steps stay short, so that everything goes on at once
// when Redis is back.
func (t *turn) claimAgain(err error) (push.Grant, error) {
	for wait := againFirst; ; wait = min(2*wait, lookMost) {
		t.trouble(err, "claiming")
		if !t.d.pause(t.ctx, wait) {
			t.release()
			return push.Grant{}, errOver
		}
		t.lease = newLease(t.d.cfg.Now, t.d.cfg.Lease)
		grant, gone := t.d.claims.ask(t.ctx, t.span, t.claim())
		switch {
		case gone != nil:
			t.release()
			return grant, gone
		case grant.Err == nil:
			return grant, nil
		}
		err = grant.Err
	}
}

// busy looks at the row while another owner's claim runs (rule C6). The message is kept while no row exists, and for
// as long as a lease while the row is under way; then the owner or the compensator looks after it.
func (t *turn) busy(grant push.Grant) ending {
	row, err := t.look()
	if err != nil {
		return ending{again: againFirst}
	}
	step := min(max(grant.LeaseLeft, againFirst), lookMost)
	if t.elsewhere(row) {
		t.duplicate("row", push.KeyProcessing, row)
		return ending{taken: true}
	}
	return ending{again: step}
}

// elsewhere reports whether somebody else looks after the row, so that the message may go.
func (t *turn) elsewhere(row push.Row) bool {
	switch {
	case !row.Exists():
		return false
	case elapsed(t.first, t.d.cfg.Now()) > 2*t.d.cfg.Lease:
		return true
	case row.Status == push.Sending:
		return false
	case t.del.Retry != nil:
		return row.Status != push.Queued || row.Attempt != t.del.Retry.Attempt
	}
	return true
}

// look reads the delivery's row: of the message's own round for a retry, else the latest.
func (t *turn) look() (push.Row, error) {
	lookup := push.Lookup{Identity: t.del.Identity}
	if t.del.Retry != nil {
		lookup.Round = t.del.Retry.Round
	}
	answer, err := t.d.looks.ask(t.ctx, t.span, lookup)
	if err != nil {
		return push.Row{}, err
	}
	return answer.Row, answer.Err
}

// intended follows the answer to the intent: a row that is ours is sent.
func (t *turn) intended(answer push.Answer, err error) {
	switch row := answer.Row; {
	case err != nil:
		t.end(ending{})
	case answer.Err != nil:
		t.aside(func() { t.intendAgain(answer.Err) })
	case !row.MayBeSent(t.owner):
		t.aside(func() { t.notMine(row) })
	default:
		if t.del.Retry == nil && row.Attempt > 1 {
			t.tookOver(row)
		}
		if t.del.Action.Capability() == push.Transactional {
			t.send(row) // the commit of the result sends it: there is nothing to wait for
			return
		}
		t.aside(func() { t.send(row) })
	}
}

// intendAgain writes the intent, the same one until it is answered (rule I9): a claim whose intent may still land is
// never just released. When the process is to stop, a tombstone defeats the late write instead (rule U2).
func (t *turn) intendAgain(err error) {
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		t.trouble(err, "writing the intent")
		if errors.Is(err, push.ErrRefused) {
			t.release()
			t.end(ending{taken: true, err: refusal()})
			return
		}
		if !t.d.pause(t.d.life, wait) {
			t.end(t.undoLost())
			return
		}
		t.asked = t.d.cfg.Now()
		answer, gone := t.d.intents.ask(t.d.life, t.span, t.intent)
		if gone != nil || answer.Err == nil {
			t.intended(answer, gone)
			return
		}
		err = answer.Err
	}
}

func (t *turn) newIntent() push.Intent {
	intent := push.Intent{
		Delivery: t.del, Owner: t.owner, Lease: t.d.cfg.Lease,
		ResendWithin: t.channel.ResendWithin, MaxAttempts: t.d.cfg.Backoff.MaxAttempts, Worker: t.d.cfg.Worker,
	}
	if via := t.channel.choose(t.asMessage()); via != nil {
		intent.Provider = via.Provider()
	}
	if t.del.Retry == nil && t.del.Skip == "" {
		to := addressOf(t.del.Action, t.del.Event.Recipient, t.d.cfg.PhoneRegion)
		t.del.Skip = to.skip
		intent.Recipient = push.Mask(to.full)
		intent.RecipientHash = push.HashRecipient(to.full, t.d.cfg.HashKey)
		intent.RecipientFull = to.full
	}
	return intent
}

// undoLost makes sure that an intent whose answer was lost never sends (rule U2), then releases the key.
func (t *turn) undoLost() ending {
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		answer, err := t.d.lost.ask(t.d.life, t.span, t.intent)
		if err != nil {
			return ending{}
		}
		if answer.Err == nil {
			t.release()
			return ending{taken: answer.Row.Exists() && answer.Row.Status != push.Sending}
		}
		if !wakeless(t.d.life, wait) {
			return ending{}
		}
	}
}

// notMine follows the row of an intent that was not granted: another claim is sending (rule I4, the message is kept),
// or the row says what the key must say (rule K1). Our own attempt, swept to unknown while its intent's answer was lost,
// never left this process: it is undone like any other of which nothing left (rule U1, hole H13).
func (t *turn) notMine(row push.Row) {
	if row.Status == push.Unknown && row.Owner == t.owner {
		t.finish(t.undo(row))
		return
	}
	if row.HeldByOther(t.owner) {
		t.release()
		if t.elsewhere(row) {
			t.end(ending{taken: true})
		} else {
			t.end(ending{again: min(max(row.LeaseLeft, againFirst), lookMost)})
		}
		return
	}
	if !fresh(row) {
		t.duplicate("row", push.KeyAbsent, row)
	}
	t.finish(row, true)
}

// fresh reports whether the intent itself ended the delivery: skipped, expired and deferred are news to the log.
func fresh(row push.Row) bool {
	return row.Attempt == 0 || row.Status == push.Skipped || row.Status == push.Expired
}

// finish settles the key by what the row said, and ends the turn.
func (t *turn) finish(row push.Row, answered bool) {
	t.vacate()
	switch {
	case !answered:
		t.end(ending{})
	case t.released:
		t.finished(row)
	default:
		t.settle(row)
	}
}

// finished ends a turn by what its row said last.
func (t *turn) finished(row push.Row) {
	t.facts = Facts{
		Delivery: t.del, Round: row.Round, Attempt: row.Attempt, Provider: row.Provider, Outcome: string(row.Status),
	}
	t.d.cfg.Meter.Row(t.del.Action, row.Provider, row.Status)
	t.end(ending{taken: row.Status != push.Sending || row.Owner != t.owner})
}

package deliver

import (
	"context"
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
type turn struct {
	d       *Deliverer
	del     *push.Delivery
	key     string
	size    int64 // bytes of its record
	owner   string
	channel Channel
	lease   *lease
	first   time.Time // when this process first looked at the delivery

	hold     *hold
	intent   push.Intent
	asked    time.Time         // when the answer was asked for that entitles to the present attempt
	vars     map[string]string // of the event, for templates; nil until they are needed
	tried    []string          // providers that refused it (rule P5)
	soonest  time.Duration     // the shortest wait that one of them asked for; 0: none
	released bool              // the key was given back: there is nothing left to settle

	span  traced // the delivery's
	facts Facts  // what it says in the end

	flight *flight
}

// ending is how a turn ends.
type ending struct {
	taken bool          // taken care of
	err   error         // refused for its own data
	again time.Duration // not 0: keep the message and look again after this
}

// run is the way of a delivery, in one sentence: claim, intent, send, result, settle. first is what its claim was answered,
// where it has asked already.
func (t *turn) run(ctx context.Context, first push.Grant) ending {
	grant, ok := t.claim(ctx, first)
	if !ok {
		return ending{}
	}
	switch grant.Verdict {
	case push.Duplicate:
		t.duplicate("redis", grant.Before)
		return ending{taken: true}
	case push.Busy:
		return t.busy(ctx, grant)
	case push.Granted:
	}
	if t.d.isStopping() { // nothing is written yet: the record comes again, elsewhere
		t.release()
		return ending{}
	}
	t.hold = &hold{key: push.KeyHold{Key: t.key, Owner: t.owner}, lease: t.lease}
	t.d.watchdog.watch(t.hold)
	defer t.d.watchdog.drop(t.hold)

	row, end := t.intend()
	if end != nil {
		return *end
	}
	if !row.MayBeSent(t.owner) {
		return t.notMine(row)
	}
	if t.del.Retry == nil && row.Attempt > 1 {
		t.tookOver(row)
	}
	return t.finish(t.send(row))
}

// claim asks for the key until it is answered, always as the same owner, so that a claim whose answer was lost is
// granted again (rule C5). It gives up when the record's time is over. The steps stay short, so that everything goes
// on at once when Redis is back. first is an answer that has come already, if any.
func (t *turn) claim(ctx context.Context, first push.Grant) (push.Grant, bool) {
	grant := first
	for wait := againFirst; ; wait = min(2*wait, lookMost) {
		if !isAnswer(grant) {
			if t.d.isStopping() {
				return push.Grant{}, false
			}
			var err error
			if grant, err = t.d.claims.ask(ctx, t.span, t.asClaim()); err != nil {
				return push.Grant{}, false
			}
		}
		if grant.Err == nil {
			return grant, true
		}
		t.trouble(grant.Err, "claiming")
		if !t.d.pause(ctx, wait) {
			t.release()
			return push.Grant{}, false
		}
		grant = push.Grant{}
	}
}

// isAnswer reports whether a claim has been answered at all.
func isAnswer(g push.Grant) bool { return g.Verdict != 0 || g.Err != nil }

func (t *turn) asClaim() push.Claim {
	return push.Claim{
		Key: t.key, Owner: t.owner, Retry: t.del.Retry,
		RecordTime: t.del.Origin.Time, Window: t.del.Window,
	}
}

// busy looks at the row while another owner's claim runs (rule C6). The message is kept while no row exists, and for
// as long as a lease while the row is under way; then the owner or the compensator looks after it.
func (t *turn) busy(ctx context.Context, grant push.Grant) ending {
	row, err := t.look(ctx)
	if err != nil {
		return ending{again: againFirst}
	}
	step := min(max(grant.LeaseLeft, againFirst), lookMost)
	if t.elsewhere(row) {
		t.duplicate("row", push.KeyProcessing)
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
func (t *turn) look(ctx context.Context) (push.Row, error) {
	lookup := push.Lookup{Identity: t.del.Identity}
	if t.del.Retry != nil {
		lookup.Round = t.del.Retry.Round
	}
	answer, err := t.d.looks.ask(ctx, t.span, lookup)
	if err != nil {
		return push.Row{}, err
	}
	return answer.Row, answer.Err
}

// intend writes the intent, the same one until it is answered (rule I9): a claim whose intent may still land is never
// just released. When the process is to stop, a tombstone defeats the late write instead (rule U2).
func (t *turn) intend() (push.Row, *ending) {
	t.intent = t.newIntent()
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		answer, err := t.d.intents.ask(t.d.life, t.span, t.intent)
		switch {
		case err != nil:
			return push.Row{}, &ending{}
		case answer.Err == nil:
			return answer.Row, nil
		case errors.Is(answer.Err, push.ErrRefused):
			t.trouble(answer.Err, "writing the intent")
			t.release()
			return push.Row{}, &ending{taken: true, err: refusal()}
		}
		t.trouble(answer.Err, "writing the intent")
		if !t.d.pause(t.d.life, wait) {
			return push.Row{}, t.undoLost()
		}
	}
}

func (t *turn) newIntent() push.Intent {
	channel := t.channel
	intent := push.Intent{
		Delivery: t.del, Owner: t.owner, Lease: t.d.cfg.Lease,
		ResendWithin: channel.ResendWithin, MaxAttempts: t.d.cfg.Backoff.MaxAttempts, Worker: t.d.cfg.Worker,
	}
	if via := channel.choose(t.asMessage()); via != nil {
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
func (t *turn) undoLost() *ending {
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		answer, err := t.d.lost.ask(t.d.life, t.span, t.intent)
		if err != nil {
			return &ending{}
		}
		if answer.Err == nil {
			t.release()
			return &ending{taken: answer.Row.Exists() && answer.Row.Status != push.Sending}
		}
		if !wakeless(t.d.life, wait) {
			return &ending{}
		}
	}
}

// notMine follows the row of an intent that was not granted: another claim is sending (rule I4, the message is kept),
// or the row says what the key must say (rule K1). Our own attempt, swept to unknown while its intent's answer was lost,
// never left this process: it is undone like any other of which nothing left (rule U1, hole H13).
func (t *turn) notMine(row push.Row) ending {
	if row.Status == push.Unknown && row.Owner == t.owner {
		return t.finish(t.undo(row))
	}
	if row.HeldByOther(t.owner) {
		t.release()
		if t.elsewhere(row) {
			return ending{taken: true}
		}
		return ending{again: min(max(row.LeaseLeft, againFirst), lookMost)}
	}
	if !fresh(row) {
		t.duplicate("row", push.KeyAbsent)
	}
	return t.finish(row, true)
}

// fresh reports whether the intent itself ended the delivery: skipped, expired and deferred are news to the log.
func fresh(row push.Row) bool {
	return row.Attempt == 0 || row.Status == push.Skipped || row.Status == push.Expired
}

// finish settles the key by what the row said, and ends the turn.
func (t *turn) finish(row push.Row, answered bool) ending {
	if !answered {
		return ending{}
	}
	t.settle(row)
	t.facts = Facts{
		Delivery: t.del, Round: row.Round, Attempt: row.Attempt, Provider: row.Provider, Outcome: string(row.Status),
	}
	t.d.cfg.Meter.Row(t.del.Action, row.Provider, row.Status)
	return ending{taken: row.Status != push.Sending || row.Owner != t.owner}
}

package deliver

import (
	"errors"
	"time"

	"pusher/internal/push"
)

// inlineRepeats bounds the repeats of an ambiguous attempt by the process that made it; the compensator goes on
// inside the window (rule Q4).
const inlineRepeats = 2

// record writes what became of the attempt until it is written (rules P1 to P4): SIGTERM does not cut it short, only
// the end of the grace period does. It returns the row's word.
func (t *turn) record(result push.Result) (push.Row, bool) {
	answer, err := t.d.results.ask(t.d.life, t.span, result)
	switch {
	case err != nil:
		return push.Row{}, false
	case answer.Err != nil:
		return t.recordAgain(result, answer.Err)
	}
	t.decided(result, answer.Row)
	return answer.Row, true
}

// recordAgain is record after a first answer that was an error.
func (t *turn) recordAgain(result push.Result, err error) (push.Row, bool) {
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		t.trouble(err, "writing the result")
		if errors.Is(err, push.ErrRefused) {
			if bare(result) {
				return push.Row{}, false
			}
			result.Message, result.MessageID = "", ""
		}
		if !wakeless(t.d.life, wait) {
			return push.Row{}, false
		}
		answer, gone := t.d.results.ask(t.d.life, t.span, result)
		if gone != nil {
			return push.Row{}, false
		}
		if answer.Err == nil {
			t.decided(result, answer.Row)
			return answer.Row, true
		}
		err = answer.Err
	}
}

// bare reports whether a result has no free text left that PostgreSQL could refuse.
func bare(r push.Result) bool { return r.Message == "" && r.MessageID == "" }

// undo takes the intent back when nothing of it left (rule U1: the row first, then the key).
func (t *turn) undo(row push.Row) (push.Row, bool) {
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		answer, err := t.d.undos.ask(t.d.life, t.span, t.held(row))
		if err != nil {
			return push.Row{}, false
		}
		if answer.Err == nil {
			t.gaveBack(answer.Row)
			t.release()
			return answer.Row, true
		}
		t.trouble(answer.Err, "undoing the intent")
		if !wakeless(t.d.life, wait) {
			return push.Row{}, false
		}
	}
}

// mayRepeat reports whether this process repeats the ambiguous attempt it made: only where the provider makes the
// repeat harmless, inside its window, while the claim is held.
func (t *turn) mayRepeat(row push.Row, repeats int) bool {
	if t.del.Action.Capability() != push.Windowed || row.Status != push.Unknown || row.Owner != t.owner || repeats >= inlineRepeats {
		return false
	}
	wait := time.Second << repeats
	if t.channel.ResendWithin-row.AmbiguousAge < t.channel.Timeout+wait {
		return false
	}
	return t.d.pause(t.d.life, wait)
}

// repeat makes the unknown attempt the next one of this very claim. That is a new grant: a renewal that came between
// the two attempts found no sending row of ours, and no lease lost to anybody.
func (t *turn) repeat(row push.Row) (push.Row, bool) {
	asked := t.d.cfg.Now()
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		answer, err := t.d.repeats.ask(t.d.life, t.span, t.held(row))
		if err != nil {
			return push.Row{}, false
		}
		if answer.Err == nil {
			if answer.Row.MayBeSent(t.owner) {
				t.granted(asked)
			}
			return answer.Row, true
		}
		t.trouble(answer.Err, "repeating the attempt")
		if !t.d.pause(t.d.life, wait) {
			return row, true
		}
	}
}

// granted makes the row's new word the claim's own: its lease and its window count from before the call.
func (t *turn) granted(asked time.Time) {
	t.lease.regain(asked)
	t.asked = asked
}

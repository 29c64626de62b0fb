package deliver

import (
	"cmp"
	"errors"

	"pusher/internal/push"
)

// next is the provider that the claim goes on with after a refusal (rule P5); nil: there is none, or none may follow.
func (t *turn) next(row push.Row, result push.Result) Sender {
	if row.Ambiguous || !passable(result) || t.d.isStopping() {
		return nil
	}
	t.tried = append(t.tried, row.Provider)
	return t.channel.pick(t.asMessage(), t.tried)
}

// switchTo files the attempt and makes the row the next provider's, before that one is called. Like any write of a
// result it is repeated until it is answered, whatever is told to stop: one whose answer got lost may have begun the
// next attempt, which is to be undone then, not left.
func (t *turn) switchTo(row push.Row, result push.Result, next Sender) (push.Row, bool) {
	ask := push.Switch{Result: result, Next: next.Provider(), Lease: t.d.cfg.Lease}
	asked := t.d.cfg.Now()
	for wait := againFirst; ; wait = min(2*wait, againMost) {
		answer, err := t.d.switches.ask(t.d.life, t.span, ask)
		if err != nil {
			return push.Row{}, false
		}
		if answer.Err == nil {
			if goesOn(row, answer.Row, t.owner) {
				t.granted(asked)
				t.soonest = min(cmp.Or(t.soonest, result.Wait), result.Wait)
				t.switched(result, answer.Row)
			}
			return answer.Row, true
		}
		t.trouble(answer.Err, "switching to the next provider")
		if errors.Is(answer.Err, push.ErrRefused) {
			if bare(ask.Result) {
				return row, true // the result itself says the rest
			}
			ask.Message, ask.MessageID = "", ""
		}
		if !wakeless(t.d.life, wait) {
			return push.Row{}, false
		}
	}
}

// goesOn reports whether the row's last word entitles its owner to the attempt after the one of row.
func goesOn(row, last push.Row, owner string) bool {
	return last.MayBeSent(owner) && last.Attempt == row.Attempt+1
}

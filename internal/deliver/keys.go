package deliver

import (
	"cmp"
	"context"
	"time"

	"pusher/internal/push"
)

// keyTries bounds the settles and releases that Redis does not answer. Both only save work: a key left processing
// ends with its lease, and whoever claims it then finds the row (rule d).
const keyTries = 3

// settle sets the key by what the row says now, not by what this worker meant (rule K1), and ends the turn. Redis
// refuses it to anyone but the claim's owner.
func (t *turn) settle(row push.Row) {
	t.last = row
	t.d.settles.post(t.d.life, t.span, t.settlement(), (*atSettle)(t))
}

func (t *turn) settlement() push.KeySettle {
	return push.KeySettle{
		KeyHold:    push.KeyHold{Key: t.key, Owner: t.owner},
		Settlement: t.last.Settlement(),
		Window:     t.del.Window,
	}
}

// settled follows the answer to the settle.
func (t *turn) settled(answer push.KeyAnswer, err error) {
	if err = cmp.Or(err, answer.Err); err == nil {
		t.finished(t.last)
		return
	}
	t.aside(func() {
		t.tell(err, "settling", func() error {
			answer, err := t.d.settles.ask(t.d.life, t.span, t.settlement())
			return cmp.Or(err, answer.Err)
		})
		t.finished(t.last)
	})
}

// release puts the key back to its earlier settled state, or deletes it (rule R1). The caller has undone the row, or
// never had one.
func (t *turn) release() {
	t.released = true
	ask := push.KeyHold{Key: t.key, Owner: t.owner}
	word := func() error {
		answer, err := t.d.releases.ask(t.d.life, t.span, ask)
		return cmp.Or(err, answer.Err)
	}
	t.tell(word(), "releasing", word)
}

// tell tries a word to Redis a few times; err is what came of the first.
func (t *turn) tell(err error, what string, word func() error) {
	for try := 1; err != nil && try < keyTries && wakeless(t.d.life, againFirst); try++ {
		err = word()
	}
	t.trouble(err, what)
}

// wakeless waits for wait, or until ctx ends; Quiesce does not shorten it. It reports whether it waited to the end.
func wakeless(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

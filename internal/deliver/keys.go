package deliver

import (
	"context"
	"time"

	"pusher/internal/push"
)

// keyTries bounds the settles and releases that Redis does not answer. Both only save work: a key left processing
// ends with its lease, and whoever claims it then finds the row (rule d).
const keyTries = 3

// settle sets the key by what the row says now, not by what this worker meant (rule K1). Redis refuses it to anyone
// but the claim's owner.
func (t *turn) settle(row push.Row) {
	if t.released {
		return
	}
	ask := push.KeySettle{
		KeyHold:    push.KeyHold{Key: t.key, Owner: t.owner},
		Settlement: row.Settlement(),
		Window:     t.del.Window,
	}
	t.tell("settling", func() error {
		answer, err := t.d.settles.ask(t.d.life, t.span, ask)
		if err != nil {
			return err
		}
		return answer.Err
	})
}

// release puts the key back to its earlier settled state, or deletes it (rule R1). The caller has undone the row, or
// never had one.
func (t *turn) release() {
	t.released = true
	ask := push.KeyHold{Key: t.key, Owner: t.owner}
	t.tell("releasing", func() error {
		answer, err := t.d.releases.ask(t.d.life, t.span, ask)
		if err != nil {
			return err
		}
		return answer.Err
	})
}

// tell tries a word to Redis a few times.
func (t *turn) tell(what string, word func() error) {
	var err error
	for try := range keyTries {
		if err = word(); err == nil {
			return
		}
		if try < keyTries-1 && !wakeless(t.d.life, againFirst) {
			break
		}
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

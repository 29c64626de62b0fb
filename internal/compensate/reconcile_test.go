package compensate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pusher/internal/push"
)

func TestQ8KeysAreComparedInBatches(t *testing.T) {
	t.Parallel()
	l := &log{
		recent:     [][]push.Identity{make([]push.Identity, 1200)},
		reconciled: []push.Tally{{KeysChecked: 500, KeysRepaired: 2}, {KeysChecked: 500}, {KeysChecked: 200, KeysRepaired: 1}},
	}
	got, err := newPass(l, nil).Run(context.Background())
	if err != nil || got.KeysChecked != 1200 || got.KeysRepaired != 3 || got.Redis != "" {
		t.Errorf("summary %+v, %v; want 1200 checked in three batches, 3 repaired", got, err)
	}
}

func TestARedisThatIsAwayIsToldOfAndFailsNoPass(t *testing.T) {
	t.Parallel()
	l := &log{
		recent: [][]push.Identity{make([]push.Identity, 1200)}, letters: [][]push.Letter{{{Poke: pokes(50, 1)[0]}}},
		fail: map[string]error{"reconcile": errors.New("connection refused")},
	}
	got, err := newPass(l, nil).Run(context.Background())
	if err != nil || !strings.Contains(got.Redis, "connection refused") || got.Letters != 1 || got.Unfinished {
		t.Errorf("summary %+v, %v; want a completed pass that tells of Redis", got, err)
	}
	if n := len(slices.DeleteFunc(l.calls, func(c string) bool { return c != "reconcile" })); n != 1 {
		t.Errorf("asked %d times, want no more than once", n)
	}
}

func TestRowsThatCannotBeReadFailTheStep(t *testing.T) {
	t.Parallel()
	cause := errors.New("too many connections")
	l := &log{recent: [][]push.Identity{make([]push.Identity, 1)}, fail: map[string]error{"look": cause}}
	if _, err := newPass(l, nil).Run(context.Background()); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
}

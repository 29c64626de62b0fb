package compensate

import (
	"context"
	"slices"
	"testing"
	"time"
)

func TestPruningGoesThroughTheOldRowsOnceWhateverMayGo(t *testing.T) {
	t.Parallel()
	l := &log{pruned: []int{500, 0, 20}, messages: []int{500, 3}}
	pass := newPass(l, nil)
	pass.Keep, pass.KeepInbox = 90*24*time.Hour, time.Hour
	got, err := pass.Run(context.Background())
	if err != nil || got.Pruned != 520 || got.MessagesPruned != 503 || got.Unfinished {
		t.Errorf("%+v, %v", got, err)
	}
	want := []string{"hours", "prune 0", "prune 500", "prune 1000", "prune inbox", "prune inbox", "prune inbox"}
	if at := slices.Index(l.calls, "hours"); at < 0 || !slices.Equal(l.calls[at:], want) {
		t.Errorf("calls %v, want the counts first, then %v", l.calls, want)
	}
}

func TestNothingIsPrunedUnlessToldHowLongToKeep(t *testing.T) {
	t.Parallel()
	l := &log{pruned: []int{500}, messages: []int{500}}
	if got, err := newPass(l, nil).Run(context.Background()); err != nil || got.Pruned != 0 || got.MessagesPruned != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

package compensate

import (
	"context"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestReceiptsAreMatchedUntilNoneIsDue(t *testing.T) {
	t.Parallel()
	l := &log{receipts: [][]push.Matched{make([]push.Matched, 2), {}, make([]push.Matched, 1)}, dropped: []int{500, 3}}
	got, err := newPass(l, nil).Run(context.Background())
	if err != nil || got.Receipts != 3 || got.ReceiptsDropped != 503 || got.Unfinished {
		t.Errorf("summary %+v, %v; want 3 matched in spite of a batch without, 503 dropped", got, err)
	}
	if l.keep != time.Hour {
		t.Errorf("dropped what is older than %v", l.keep)
	}
}

func TestMatchingReceiptsEndsWithTheBudget(t *testing.T) {
	t.Parallel()
	l := &log{receipts: [][]push.Matched{make([]push.Matched, 1), make([]push.Matched, 1)}}
	pass := newPass(l, nil)
	now := time.Unix(0, 0)
	pass.Now = func() time.Time { now = now.Add(25 * time.Minute); return now }
	if got, err := pass.Run(context.Background()); err != nil || !got.Unfinished {
		t.Errorf("summary %+v, %v; want unfinished", got, err)
	}
}

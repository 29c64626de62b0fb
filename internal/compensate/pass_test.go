package compensate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestRunCountsWhatEachStepDid(t *testing.T) {
	t.Parallel()
	l := &log{
		requeue: [][]push.Poke{pokes(1, 3), pokes(4, 2)}, republish: [][]push.Poke{pokes(10, 1)},
		swept: []push.Tally{{SweptQueued: 1, SweptUnknown: 2, SweptDead: 1}}, stale: [][]push.Poke{pokes(20, 1)},
		repeat: [][]push.Poke{pokes(30, 2)}, resend: [][]push.Poke{pokes(40, 1)},
		ended:   []push.Tally{{Dead: 1, Expired: 2, Doubted: 3, UnknownExpired: 4}},
		letters: [][]push.Letter{{{Poke: pokes(50, 1)[0]}}}, held: 7,
	}
	got, err := newPass(l, nil).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{Tally: push.Tally{Requeued: 5, Republished: 1, SweptQueued: 1, SweptUnknown: 2, SweptDead: 1,
		Repeated: 2, Resent: 1, Held: 7, Dead: 1, Expired: 2, Doubted: 3, UnknownExpired: 4, Letters: 1}}
	if got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
	if len(l.marked) != 10 || len(l.published) != 11 {
		t.Errorf("published %d records, marked %d rows; want 11 and 10", len(l.published), len(l.marked))
	}
}

func TestAFailedStepDoesNotKeepTheOthersFromTheirWork(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{"sweep", "receipts", "giveup", "repeat", "questions", "resend", "held", "requeue", "recent", "republish", "letters", "drop", "hours"} {
		t.Run(broken, func(t *testing.T) {
			t.Parallel()
			cause := errors.New("deadlock detected")
			l := &log{fail: map[string]error{broken: cause}}
			_, err := newPass(l, map[string]Asker{"aliyun": asker{log: l}}).Run(context.Background())
			if !errors.Is(err, cause) {
				t.Errorf("error %v does not tell the cause", err)
			}
			want := []string{"sweep", "receipts", "giveup", "repeat", "questions", "resend", "held", "requeue", "recent", "republish", "letters", "drop", "hours"}
			if !slices.Equal(l.calls, want) {
				t.Errorf("steps %v, want %v", l.calls, want)
			}
		})
	}
}

func TestAPassToldToStopTakesUpNothingNew(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	l := &log{swept: []push.Tally{{SweptQueued: 1}, {SweptQueued: 1}}, stale: [][]push.Poke{pokes(1, 1)}, onPublish: stop}
	got, err := newPass(l, nil).Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the pass was stopped", err)
	}
	if want := []string{"sweep", "publish 1", "mark"}; !slices.Equal(l.calls, want) {
		t.Errorf("calls %v, want %v: the batch in hand is finished, nothing else begun", l.calls, want)
	}
	if len(l.published) != 1 || got.SweptQueued != 1 {
		t.Errorf("published %d, summary %+v", len(l.published), got)
	}
}

func TestTheBudgetEndsThePassBetweenBatches(t *testing.T) {
	t.Parallel()
	l := &log{requeue: [][]push.Poke{pokes(1, 2), pokes(3, 2), pokes(5, 2)}}
	now := time.Unix(0, 0)
	l.onPublish = func() { now = now.Add(40 * time.Minute) }
	pass := newPass(l, nil)
	pass.Now = func() time.Time { return now }
	got, err := pass.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got.Requeued != 4 || !got.Unfinished || len(l.published) != 4 {
		t.Errorf("summary %+v, published %d; want two batches and unfinished", got, len(l.published))
	}
}

func TestDryRunOnlyCounts(t *testing.T) {
	t.Parallel()
	l := &log{due: push.Tally{Requeued: 3, Letters: 1}, requeue: [][]push.Poke{pokes(1, 3)}}
	got, err := newPass(l, nil).DryRun(context.Background())
	if want := (Summary{Tally: l.due, DryRun: true}); err != nil || got != want {
		t.Errorf("dry run %+v, %v; want %+v", got, err, want)
	}
	if !slices.Equal(l.calls, []string{"due"}) {
		t.Errorf("calls %v, want nothing but the count", l.calls)
	}
}

func TestDryRunNamesItsError(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	_, err := newPass(&log{fail: map[string]error{"due": cause}}, nil).DryRun(context.Background())
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "counting") {
		t.Errorf("error %v", err)
	}
}

// The names are what scripts read from compensator --json.
func TestSummaryAsJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Summary{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"requeued":0,"republished":0,"swept_queued":0,"swept_unknown":0,"swept_dead":0,"repeated":0,"asked":0,` +
		`"found":0,"resent":0,"held":0,"dead":0,"expired":0,"unknown":0,"unknown_expired":0,"letters":0,` +
		`"keys_checked":0,"keys_repaired":0,"receipts":0,"receipts_dropped":0,"hours_counted":0,"pruned":0,"messages_pruned":0,` +
		`"dry_run":false,"unfinished":false}`
	if string(text) != want {
		t.Errorf("summary %s, want %s", text, want)
	}
}

package compensate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/push"
)

func TestRunCountsWhatEachStepDid(t *testing.T) {
	t.Parallel()
	l := &log{
		requeue: [][]push.Poke{pokes(1, 3), pokes(4, 2)}, republish: [][]push.Poke{pokes(10, 1)},
		swept: [][]push.Decided{decided("unknown", "unknown", "dead")}, stale: [][]push.Poke{pokes(20, 1)},
		repeat: [][]push.Poke{pokes(30, 2)}, resend: [][]push.Poke{pokes(40, 1)},
		ended: [][]push.Decided{decided("dead", "expired", "expired", "unknown", "unknown", "unknown",
			"dead unknown_expired", "dead unknown_expired", "dead unknown_expired", "dead unknown_expired")},
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
	l := &log{stale: [][]push.Poke{pokes(1, 1), pokes(2, 1)}, onPublish: stop}
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

// Each decision that somebody may ask about is a line that names its delivery; nothing else is.
func TestEachDecisionOfAPassIsOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &log{
		requeue: [][]push.Poke{pokes(1, 2)}, stale: [][]push.Poke{pokes(20, 1)}, swept: [][]push.Decided{decided("unknown", "dead retries_used_up")},
		resend: [][]push.Poke{pokes(40, 1)}, ended: [][]push.Decided{decided("expired expired", "dead unknown_expired")},
		questions: [][]push.Question{questions("aliyun", 2)},
	}
	p := newPass(l, map[string]Asker{"aliyun": asker{log: l, found: map[int64]string{2: "biz-2"}}})
	p.Log = zerolog.New(&out)
	if _, err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`"delivery":20,"biz_type":"resume_viewed","action":"sms","round":1,"attempt":2,"biz_id":"20","status":"queued","message":"taken over from an owner whose lease was over"`,
		`"biz_id":"0","status":"unknown","message":"held: it may have been sent, and nobody sends it again until that is known"`,
		`"biz_id":"1","status":"dead","code":"retries_used_up","message":"taken over from an owner whose lease was over"`,
		`"biz_id":"0","status":"expired","code":"expired","message":"given up"`,
		`"biz_id":"1","status":"dead","code":"unknown_expired","message":"given up"`,
		`"delivery":2,"biz_type":"","action":"","round":0,"attempt":1,"provider":"aliyun","status":"sent","message":"resolved: the provider says that it took it"`,
		`{"level":"warn","delivery":40,"biz_type":"resume_viewed","action":"sms","round":1,"attempt":2,"biz_id":"40","message":"sent again although it may have been sent: when_unknown is resend"`,
	}
	for _, line := range want {
		if strings.Count(out.String(), line) != 1 {
			t.Errorf("%s is not there once in\n%s", line, &out)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != len(want) {
		t.Errorf("%d lines, want %d:\n%s", n, len(want), &out)
	}
}

package compensate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"pusher/internal/push"
)

var errTooLarge = errors.New("message too large")

// Field report 11: rows go out batch by batch, never one write a row.
func TestFieldReport11_RowsArePublishedInOneBatch(t *testing.T) {
	t.Parallel()
	l := &log{requeue: [][]push.Poke{pokes(1, 300)}}
	if _, err := newPass(l, nil).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(l.calls, "publish 300") || len(l.published) != 300 || len(l.marked) != 300 {
		t.Errorf("calls %v, published %d, marked %d", l.calls, len(l.published), len(l.marked))
	}
}

func TestQ1PublishesAfterTheCommitAndMarksAfterTheAcknowledgement(t *testing.T) {
	t.Parallel()
	l := &log{requeue: [][]push.Poke{pokes(1, 1)}}
	if _, err := newPass(l, nil).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	at := slices.Index(l.calls, "requeue")
	if at < 0 || !slices.Equal(l.calls[at:at+3], []string{"requeue", "publish 1", "mark"}) {
		t.Fatalf("calls %v", l.calls)
	}
	r := l.published[0]
	asked, ok := r.Retry()
	if !ok || asked.Action != push.SMS || asked.Round != 1 || asked.Attempt != 2 || r.Topic != "retry" {
		t.Errorf("record on %s asks for %+v", r.Topic, asked)
	}
}

func TestARefusedBatchIsNotMarked(t *testing.T) {
	t.Parallel()
	away := errors.New("broker away")
	l := &log{requeue: [][]push.Poke{pokes(1, 100)}, refuse: func(push.Record) error { return away }}
	got, err := newPass(l, nil).Run(context.Background())
	if !errors.Is(err, away) {
		t.Errorf("error %v, want the broker's", err)
	}
	if len(l.marked) != 0 || got.Requeued != 100 {
		t.Errorf("marked %d, summary %+v: the rows are queued, and publishing them is still due", len(l.marked), got)
	}
	tries := 0
	for _, call := range l.calls {
		if call == "publish 1" {
			tries++
		}
	}
	if tries != topicPatience {
		t.Errorf("%d single records tried at a topic that is away, want %d", tries, topicPatience)
	}
}

func TestOneRecordThatTheBrokerRefusesHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	l := &log{requeue: [][]push.Poke{pokes(1, 10)}, refuse: refuseKey("4")}
	_, err := newPass(l, nil).Run(context.Background())
	if !errors.Is(err, errTooLarge) {
		t.Errorf("error %v, want the refusal", err)
	}
	if len(l.published) != 9 || len(l.marked) != 9 || slices.ContainsFunc(l.marked, func(p push.Poke) bool { return p.ID == 4 }) {
		t.Errorf("published %d, marked %d", len(l.published), len(l.marked))
	}
}

func TestARowWhoseEventIsBrokenHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	batch := pokes(1, 3)
	batch[1].Event = []byte("no json")
	l := &log{requeue: [][]push.Poke{batch}}
	if _, err := newPass(l, nil).Run(context.Background()); err == nil {
		t.Error("the broken event went unmentioned")
	}
	if len(l.marked) != 2 || l.marked[0].ID != 1 || l.marked[1].ID != 3 {
		t.Errorf("marked %+v", l.marked)
	}
}

func TestMarkingThatFailsIsSaid(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection reset")
	l := &log{requeue: [][]push.Poke{pokes(1, 1)}, fail: map[string]error{"mark": cause}}
	if _, err := newPass(l, nil).Run(context.Background()); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if len(l.published) != 1 {
		t.Errorf("published %d", len(l.published))
	}
}

func TestTheNextBatchIsPickedWhileOneIsPublished(t *testing.T) {
	t.Parallel()
	picked := make(chan struct{})
	l := &log{requeue: [][]push.Poke{pokes(1, 500), pokes(501, 500), pokes(1001, 1)}}
	pass := newPass(l, nil)
	pass.Queue = watched{l, picked}
	var once sync.Once
	l.onPublish = func() { once.Do(func() { <-picked }) } // the first batch waits until the second is picked
	got, err := pass.Run(context.Background())
	if err != nil || got.Requeued != 1001 || len(l.published) != 1001 || len(l.marked) != 1001 {
		t.Errorf("%+v, %v; published %d, marked %d, want 1001", got, err, len(l.published), len(l.marked))
	}
}

// watched says on picked when a second batch is picked.
type watched struct {
	*log

	picked chan struct{}
}

func (w watched) Requeue(ctx context.Context, limit int, p push.Policy, only push.Action) ([]push.Poke, error) {
	batch, err := w.log.Requeue(ctx, limit, p, only)
	if len(batch) > 0 && batch[0].ID == 501 {
		close(w.picked)
	}
	return batch, err
}

func TestTheErrorOfABatchUnderWayIsThePasss(t *testing.T) {
	t.Parallel()
	away := errors.New("broker away")
	l := &log{requeue: [][]push.Poke{pokes(1, 500), pokes(501, 500)}, refuse: func(push.Record) error { return away }}
	if got, err := newPass(l, nil).Run(context.Background()); !errors.Is(err, away) || got.Requeued != 1000 || len(l.marked) > 0 {
		t.Errorf("%+v, %v, want the broker's error and nothing marked", got, err)
	}
}

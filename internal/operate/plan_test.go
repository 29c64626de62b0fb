package operate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

// log is a push log in memory: rows by id, and what was done.
type log struct {
	rows    []push.Candidate // newest first
	changed map[int64]bool   // since the plan: they are not moved
	begun   []push.Deeds
	moved   [][]push.Deed
	ended   int
	marked  []push.Poke
	told    []push.Record
	away    error // of Kafka
	broken  error // of the third batch
}

func (l *log) Candidates(_ context.Context, f push.Filter, before int64, limit int) ([]push.Candidate, int64, error) {
	var some []push.Candidate
	for _, c := range l.rows {
		wanted := len(f.Statuses) == 0
		for _, s := range f.Statuses {
			wanted = wanted || s == c.Status
		}
		if !wanted || before > 0 && c.ID >= before {
			continue
		}
		if some = append(some, c); len(some) == limit {
			return some, c.ID, nil
		}
	}
	return some, 0, nil
}

func (l *log) Move(_ context.Context, _ int64, verb push.Verb, deeds []push.Deed) ([]push.Moved, error) {
	if l.broken != nil && len(l.moved) == 2 {
		return nil, l.broken
	}
	l.moved = append(l.moved, deeds)
	var moved []push.Moved
	for _, d := range deeds {
		if !l.changed[d.ID] {
			moved = append(moved, push.Moved{Queued: verb != push.ResolveSent, Poke: push.Poke{
				Identity: push.Identity{BizType: "a", DedupID: "1", Action: push.SMS}, ID: d.ID, BizID: "1", Round: 1,
				Attempt: d.Attempt + 1, Event: []byte(`{"biz_type":"a","biz_id":1}`),
			}})
		}
	}
	return moved, nil
}

func (l *log) MarkPublished(_ context.Context, pokes []push.Poke) error {
	l.marked = append(l.marked, pokes...)
	return nil
}

func (l *log) Begin(_ context.Context, d push.Deeds) (int64, error) {
	l.begun = append(l.begun, d)
	return int64(len(l.begun)), nil
}

func (l *log) Finish(_ context.Context, _ int64, changed int) error {
	l.ended = changed
	return nil
}

func (l *log) Publish(_ context.Context, records []push.Record) error {
	if l.away != nil {
		return l.away
	}
	l.told = append(l.told, records...)
	return nil
}

// dead makes n dead rows, the newest first.
func dead(n int) []push.Candidate {
	rows := make([]push.Candidate, n)
	for i := range rows {
		rows[i].ID, rows[i].Status, rows[i].Attempt, rows[i].RecipientKept = int64(n-i), push.Dead, 3, true
	}
	return rows
}

// over makes a desk over l.
func over(l *log, most int) *Desk {
	return New(Config{Policy: policy(), RetryTopic: "retry", Now: time.Now, Most: most, Region: "CN"},
		Ports{Mover: l, Book: l, Publisher: l})
}

var ada = Actor{Name: "ada", Role: "cli"}

func TestPlanCountsEachRowOnceAndSaysWhyNot(t *testing.T) {
	t.Parallel()
	rows := dead(2500)
	rows[1].ErrorCode = push.CodeUnknownExpired
	rows[2].RecipientKept = false
	rows[3].ExpiresAt = time.Now().Add(-time.Hour)
	rows[4].Status = push.Sent // not meant by a filter that names no status
	p, err := over(&log{rows: rows}, 0).Plan(t.Context(), push.Requeue, push.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	want := Counts{Matching: 2499, WouldSend: 2496, HeldBack: 2, Expired: 1}
	if p.Counts != want || p.Changes() != 2496 || p.Truncated || len(p.Sample) != sampleSize || p.Sample[1].Reason != reasonDoubt {
		t.Errorf("got %+v, %d changes, sample %+v", p.Counts, p.Changes(), p.Sample)
	}
	if p.Reasons[reasonErased] != 1 || p.Reasons[reasonDoubt] != 1 || p.Reasons[reasonExpired] != 1 {
		t.Errorf("reasons %v", p.Reasons)
	}
}

func TestPlanOfMoreThanItHoldsSaysSo(t *testing.T) {
	t.Parallel()
	p, err := over(&log{rows: dead(30)}, 20).Plan(t.Context(), push.Requeue, push.Filter{})
	if err != nil || !p.Truncated || p.Changes() != 20 {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err := over(&log{}, 0).Plan(t.Context(), "delete", push.Filter{}); err == nil {
		t.Error("a verb that is none was planned")
	}
}

func TestDigestNamesWhatWouldBeDone(t *testing.T) {
	t.Parallel()
	plan := func(rows []push.Candidate) string {
		p, err := over(&log{rows: rows}, 0).Plan(t.Context(), push.Requeue, push.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest()
	}
	again := dead(3)
	again[0].Attempt = 4
	first, second := plan(dead(3)), plan(dead(3))
	if first != second || first == plan(dead(2)) || first == plan(again) {
		t.Error("the digest does not tell plans apart")
	}
}

func TestApplyMovesInBatchesAndPublishesWhatIsCommitted(t *testing.T) {
	t.Parallel()
	l := &log{rows: dead(1200), changed: map[int64]bool{7: true}}
	desk := over(l, 0)
	p, err := desk.Plan(t.Context(), push.Requeue, push.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := desk.Apply(t.Context(), p, ada, "template mended")
	want := Outcome{ActionID: 1, Planned: 1200, Changed: 1199, Passed: 1, Queued: 1199, Published: 1199}
	if err != nil || out != want {
		t.Errorf("got %+v, %v; want %+v", out, err, want)
	}
	if len(l.moved) != 3 || len(l.told) != 1199 || len(l.marked) != 1199 || l.ended != 1199 || l.told[0].Topic != "retry" {
		t.Errorf("%d batches, %d told, %d marked, %d at the end", len(l.moved), len(l.told), len(l.marked), l.ended)
	}
	if b := l.begun[0]; b.Actor != "ada" || b.Verb != "requeue" || b.Filter != "status=dead,failed" || b.Counts["would_send"] != 1200 {
		t.Errorf("the book says %+v", b)
	}
}

func TestApplyAsksForWhoAndWhy(t *testing.T) {
	t.Parallel()
	l := &log{rows: dead(1)}
	desk := over(l, 0)
	p, err := desk.Plan(t.Context(), push.Requeue, push.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ who, why string }{{"", "because"}, {"ada", " "}} {
		if _, err := desk.Apply(t.Context(), p, Actor{Name: c.who}, c.why); !errors.Is(err, ErrNoReason) || len(l.moved)+len(l.begun) > 0 {
			t.Errorf("%q, %q: got %v", c.who, c.why, err)
		}
	}
}

// Kafka away: everything is queued, and the compensator's to publish (rule Q2). It is asked once, not once a batch.
func TestApplyLeavesToTheCompensatorWhatKafkaDoesNotTake(t *testing.T) {
	t.Parallel()
	l := &log{rows: dead(1200), away: errors.New("broker away")}
	desk := over(l, 0)
	p, err := desk.Plan(t.Context(), push.Requeue, push.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := desk.Apply(t.Context(), p, ada, "x")
	if err != nil || out.Queued != 1200 || out.Published != 0 || out.Unpublished != "broker away" || len(l.marked) > 0 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestApplyThatBreaksOffSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	l := &log{rows: dead(1200), broken: errors.New("postgres away")}
	desk := over(l, 0)
	p, err := desk.Plan(t.Context(), push.Requeue, push.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := desk.Apply(t.Context(), p, ada, "x")
	if !errors.Is(err, l.broken) || out.Changed != 1000 || out.Published != 1000 || l.ended != 0 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestRecipientIsHashedWholeOrMatchedAsShown(t *testing.T) {
	t.Parallel()
	desk := over(&log{}, 0)
	if f := desk.Recipient(push.Filter{}, " 138****8000 "); f.Recipient != "138****8000" || f.RecipientHash != nil {
		t.Errorf("masked: %+v", f)
	}
	if f := desk.Recipient(push.Filter{}, "13800138000"); f.Recipient != push.Mask("+8613800138000") || f.RecipientHash != nil {
		t.Errorf("without a key: %+v", f)
	}
	desk.cfg.HashKey = []byte("a key of sixteen")
	for given, full := range map[string]string{"138 0013 8000": "+8613800138000", "oAbC123456": "oAbC123456"} {
		f := desk.Recipient(push.Filter{}, given)
		if f.Recipient != "" || string(f.RecipientHash) != string(push.HashRecipient(full, desk.cfg.HashKey)) {
			t.Errorf("%s: %+v", given, f)
		}
	}
	if says := desk.Recipient(push.Filter{}, "13800138000").String(); strings.Contains(says, "138") {
		t.Errorf("the filter's words are %q", says)
	}
}

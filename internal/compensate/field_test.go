package compensate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"pusher/internal/compensate"
	"pusher/internal/push"
)

var errAway = errors.New("broker away")

// Field report 10b: the compensator dies after the re-queue, before the publication. The row is published once the
// patience is over, for the same attempt.
func TestFieldReport10_ACrashBeforeThePublicationIsMadeGoodByQ2(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 1), push.NotSent, 0)
	if _, err := s.Requeue(t.Context(), 10, push.Policy{MaxAttempts: 5}, ""); err != nil {
		t.Fatal(err)
	}
	s.run(t)
	s.kafka.must(t, map[string]int{})
	s.later(t, time.Minute)
	s.run(t)
	s.run(t)
	s.kafka.must(t, map[string]int{"retry 0(2)": 1})
}

// Field report 10a: the record is written although the call failed. It comes again, for the same attempt.
func TestFieldReport10_AWriteThatLandsAfterItsErrorIsRepeatedForTheSameAttempt(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 1), push.NotSent, 0)
	s.kafka.after = func() error { return context.DeadlineExceeded }
	if _, err := s.pass(nil).Run(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want the timeout", err)
	}
	s.kafka.after = nil
	s.run(t)
	s.later(t, time.Minute)
	s.run(t)
	s.kafka.must(t, map[string]int{"retry 0(2)": 2})
	if n := s.count(t, "status = 'queued' AND attempt = 2 AND retries_used = 1"); n != 1 {
		t.Errorf("%d rows queued(2)", n)
	}
}

func TestARefusedPublicationFailsThePassAndLeavesTheRowsQueued(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 10), push.NotSent, 0)
	s.kafka.before = func() error { return errAway }
	got, err := s.pass(nil).Run(t.Context())
	if !errors.Is(err, errAway) || got.Requeued != 10 {
		t.Errorf("summary %+v, %v", got, err)
	}
	if n := s.count(t, "status = 'queued' AND published_at IS NULL"); n != 10 {
		t.Errorf("%d rows are queued and unpublished, want 10", n)
	}
}

// Field report 11: 300 rows take as many writes as batches, not as rows.
func TestFieldReport11_ThreeHundredRowsInOneQuickPass(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 300), push.NotSent, 0)
	start := time.Now()
	if got := s.run(t); got.Requeued != 300 || s.kafka.writes != 3 {
		t.Errorf("%d re-queued by %d writes, want 300 by 3", got.Requeued, s.kafka.writes)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the pass took %v", took)
	}
}

// Field report 12: two compensators overlap on a slow Kafka. They share the rows; each is published once.
func TestFieldReport12_OverlappingPassesShareTheWork(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 500), push.NotSent, 0)
	var both sync.WaitGroup // each pass waits at its first write until the other has rows, too
	both.Add(2)
	var firsts sync.Map
	run := func(name int) (compensate.Summary, error) {
		pass := s.pass(nil)
		pass.Publisher = publisherFunc(func(ctx context.Context, records []push.Record) error {
			if _, met := firsts.LoadOrStore(name, true); !met {
				both.Done()
				both.Wait()
			}
			return s.kafka.Publish(ctx, records)
		})
		return pass.Run(t.Context())
	}
	var sums [2]compensate.Summary
	var wg sync.WaitGroup
	for i := range sums {
		wg.Go(func() {
			var err error
			if sums[i], err = run(i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if sums[0].Requeued+sums[1].Requeued != 500 || sums[0].Requeued == 0 || sums[1].Requeued == 0 {
		t.Errorf("re-queued %d and %d, want 500 in all, shared", sums[0].Requeued, sums[1].Requeued)
	}
	want := make(map[string]int)
	for i := range 500 {
		want[fmt.Sprintf("retry %d(2)", i)] = 1
	}
	s.kafka.must(t, want)
	if n := s.count(t, "status = 'queued' AND attempt = 2"); n != 500 {
		t.Errorf("%d rows queued(2), want 500", n)
	}
}

type publisherFunc func(context.Context, []push.Record) error

func (f publisherFunc) Publish(ctx context.Context, records []push.Record) error {
	return f(ctx, records)
}

// Field report 12: rows that a killed replica had locked are eligible again as soon as it is gone.
func TestFieldReport12_AKilledPassGivesItsRowsBack(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 5), push.NotSent, 0)
	killed, err := s.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := killed.Exec(t.Context(), "SELECT FROM push_log FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if got := s.run(t); got.Requeued != 0 {
		t.Errorf("%d re-queued of locked rows", got.Requeued)
	}
	if err := killed.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.run(t); got.Requeued != 5 {
		t.Errorf("%d re-queued, want 5", got.Requeued)
	}
}

// Field report 13: a provider that always refuses is called max_attempts times, then the delivery is dead, with one
// letter, and nothing is published for it any more.
func TestFieldReport13_RetriesEnd(t *testing.T) {
	t.Parallel()
	s := open(t)
	rows, calls := s.begin(t, 1), 0
	want := map[string]int{"dlq 0(5)": 1}
	for rows[0].Status == push.Sending {
		if calls++; calls > 10 {
			t.Fatal("no end in sight")
		}
		s.end(t, rows, push.NotSent, 0)
		s.run(t)
		next := rows[0].Attempt + 1
		rows = answered(t, s.Intend(t.Context(), []push.Intent{s.intent(0, &push.Retry{Round: 1, Attempt: next})}))
		if rows[0].Status == push.Sending {
			want[fmt.Sprintf("retry 0(%d)", next)] = 1
		}
	}
	s.later(t, 24*time.Hour)
	s.run(t)
	if calls != 5 || rows[0].Status != push.Dead {
		t.Errorf("%d calls, then %s; want 5, then dead", calls, rows[0].Status)
	}
	s.kafka.must(t, want)
}

// Field report 15: a message past its validity ends expired and is not sent; one without validity is.
func TestFieldReport15_LateIsWorseThanNever(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 2, func(e *push.Event) {
		if string(e.Raw) == `{"biz_type":"resume_viewed","biz_id":0}` {
			e.ExpiresAt = time.Now().Add(5 * time.Minute)
		}
	}), push.NotSent, 10*time.Minute)
	s.later(t, 10*time.Minute)
	if got := s.run(t); got.Expired != 1 || got.Requeued != 1 {
		t.Errorf("summary %+v, want one expired, one re-queued", got)
	}
	s.kafka.must(t, map[string]int{"retry 1(2)": 1})
	if n := s.count(t, "dedup_id = '0' AND status = 'expired' AND recipient_full IS NULL"); n != 1 {
		t.Error("the late one is not expired")
	}
}

// found is a provider that has every message asked about.
type found struct{}

func (found) Find(context.Context, push.Question) (push.Finding, error) {
	return push.Finding{Found: true, MessageID: "biz-1"}, nil
}

// Q3 and Q5 together: a pusher dies with an SMS out; the row is swept to unknown, the provider is asked, and what it
// found settles the row. Nothing is sent again.
func TestQ5AStaleSendIsFoundAndSettled(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.begin(t, 1)
	s.later(t, 2*time.Minute)
	got, err := s.pass(found{}).Run(t.Context())
	if err != nil || got.SweptUnknown != 1 || got.Asked != 1 || got.Found != 1 {
		t.Errorf("summary %+v, %v", got, err)
	}
	if n := s.count(t, "status = 'sent' AND provider_msg_id = 'biz-1' AND recipient_full IS NULL"); n != 1 {
		t.Error("the row is not sent")
	}
	s.kafka.must(t, map[string]int{})
}

func TestDryRunTellsWhatThePassThenDoes(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 7), push.NotSent, 0)
	told, err := s.pass(nil).DryRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.kafka.writes != 0 || s.count(t, "status = 'failed'") != 7 {
		t.Error("the dry run changed something")
	}
	if did := s.run(t); told.Tally != did.Tally {
		t.Errorf("told %+v, did %+v", told.Tally, did.Tally)
	}
}

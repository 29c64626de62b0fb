package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pusher/internal/push"
)

// loseEither runs a step twice: with its answer lost after the server committed, and with its request lost before.
func loseEither(t *testing.T, step func(t *testing.T, r rows, lose *atomic.Bool)) {
	t.Helper()
	for name, pick := range map[string]func(*lossy) *atomic.Bool{
		"the answer is lost":  func(l *lossy) *atomic.Bool { return &l.loseAnswer },
		"the request is lost": func(l *lossy) *atomic.Bool { return &l.loseRequest },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, l := overLossy(t)
			step(t, r, pick(l))
		})
	}
}

// untilAnswered repeats a call as the pipeline does, after its connection broke under it, and returns its answer.
func untilAnswered(t *testing.T, lose *atomic.Bool, call func() []push.Answer) push.Row {
	t.Helper()
	lose.Store(true)
	if got := call(); got[0].Err == nil || lose.Load() {
		t.Fatalf("answer %+v over a broken connection", got)
	}
	return one(t, call())
}

func TestFieldReport22_FirstInsertWithoutAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	loseEither(t, func(t *testing.T, r rows, lose *atomic.Bool) {
		t.Helper()
		got := untilAnswered(t, lose, func() []push.Answer {
			return r.Intend(t.Context(), []push.Intent{intend("w1")})
		})
		says(t, got, "sending(w1,1)")
		if n := r.count(t, "SELECT count(*) FROM push_log"); n != 1 || got.Round != 1 {
			t.Errorf("%d rows, round %d, want one of round 1", n, got.Round)
		}
	})
}

func TestFieldReport22_StatusChangeWithoutAnswer(t *testing.T) {
	t.Parallel()
	loseEither(t, func(t *testing.T, r rows, lose *atomic.Bool) {
		t.Helper()
		row := r.intend(t, "w1")
		says(t, untilAnswered(t, lose, func() []push.Answer {
			return r.Record(t.Context(), []push.Result{resultOf(row, push.NotSent)})
		}), "failed(w1,1)")
		r.must(t, row.ID, "1", "retries_used")
		row = r.intend(t, "w2", about("accepted"))
		says(t, untilAnswered(t, lose, func() []push.Answer {
			return r.Record(t.Context(), []push.Result{resultOf(row, push.Accepted)})
		}), "sent(w2,1)")
	})
}

func TestFieldReport22_AttemptIncrementWithoutAnswer(t *testing.T) {
	t.Parallel()
	loseEither(t, func(t *testing.T, r rows, lose *atomic.Bool) {
		t.Helper()
		row := r.record(t, r.intend(t, "w1", of(push.WeChat)), push.Ambiguous)
		row = untilAnswered(t, lose, func() []push.Answer { return r.Repeat(t.Context(), []push.Held{heldBy(row)}) })
		says(t, row, "sending(w1,2)")
		r.lapse(t, row)
		says(t, untilAnswered(t, lose, func() []push.Answer {
			return r.Intend(t.Context(), []push.Intent{intend("w2", of(push.WeChat))})
		}), "sending(w2,3)")
		r.must(t, row.ID, "2", "retries_used")
		if told := r.attempts(t, row); told != "1:ambiguous 2:lost 3:sending" {
			t.Errorf("timeline %q, want each attempt once", told)
		}
	})
}

func TestFieldReport22_OppositeOrdersLoseNoUpdate(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	const deliveries, workers, turns = 200, 4, 8
	rowOf := make([]push.Row, deliveries)
	for i := range rowOf {
		rowOf[i] = r.intend(t, "w0", of(push.WeChat), about(strconv.Itoa(i)), func(in *push.Intent) { in.MaxAttempts = 1 << 20 })
	}
	var taken atomic.Int64
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() { // the test waits for it below
			for turn := range turns {
				owner := fmt.Sprintf("w%d.%d", w, turn)
				order := rand.Perm(deliveries)
				intents := make([]push.Intent, deliveries)
				for i, n := range order {
					intents[i] = intend(owner, of(push.WeChat), about(strconv.Itoa(n)), func(in *push.Intent) { in.MaxAttempts = 1 << 20 })
				}
				var results []push.Result
				for _, answer := range r.Intend(context.Background(), intents) {
					if answer.Err != nil {
						t.Errorf("dropped: %v", answer.Err)
					}
					if answer.Row.MayBeSent(owner) {
						taken.Add(1)
						results = append(results, resultOf(answer.Row, push.Ambiguous))
					}
				}
				rand.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
				for _, answer := range r.Record(context.Background(), results) {
					if answer.Err != nil {
						t.Errorf("result dropped: %v", answer.Err)
					}
				}
			}
		})
	}
	for pass := range 2 { // compensators: leave stale sends behind, to be taken over
		group.Go(func() {
			for range turns {
				_, err := r.db.Exec(context.Background(), `UPDATE push_log SET lease_until = now() WHERE id IN (
					SELECT id FROM push_log WHERE status = 'sending' AND id % 2 = $1 ORDER BY id DESC FOR UPDATE SKIP LOCKED)`, pass)
				if err != nil {
					t.Errorf("pass %d: %v", pass, err)
				}
			}
		})
	}
	group.Wait()
	bumps := r.count(t, "SELECT sum(attempt - 1) FROM push_log")
	if filed := r.count(t, "SELECT count(*) FROM push_attempt"); bumps != int(taken.Load()) || filed != bumps {
		t.Errorf("%d attempts begun, %d counted, %d filed: an update was lost", taken.Load(), bumps, filed)
	}
}

func TestFieldReport23_StatusNeverGoesBack(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	slow := r.intend(t, "w1")
	n := r.queue(t, one(t, r.Undo(t.Context(), []push.Held{heldBy(slow)})))
	fast := r.intend(t, "w2", retry(n))
	says(t, r.record(t, fast, push.Accepted), "sent(w2,2)")
	before := r.say(t, fast.ID, "xmin")
	for _, class := range []push.Class{push.NotSent, push.Throttled, push.Account, push.Permanent, push.Ambiguous} {
		says(t, r.record(t, slow, class), "sent(w2,2)")
		says(t, r.record(t, fast, class), "sent(w2,2)")
	}
	says(t, one(t, r.Undo(t.Context(), []push.Held{heldBy(fast)})), "sent(w2,2)")
	r.must(t, fast.ID, before, "xmin") // neither status nor counters nor times
}

func TestFieldReport23_FailureRetryAndSuccessStillWork(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1"), push.NotSent)
	row = r.record(t, r.intend(t, "w2", retry(r.queue(t, row))), push.NotSent)
	row = r.record(t, r.intend(t, "w3", retry(r.queue(t, row))), push.Accepted)
	says(t, row, "sent(w3,3)")
	if told := r.attempts(t, row); told != "1:not_sent 2:not_sent 3:accepted" {
		t.Errorf("timeline %q", told)
	}
}

func TestFieldReport25_TimesAreRealInEveryZone(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Asia/Shanghai", "America/Los_Angeles"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			if _, err := r.db.Exec(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = "+
				"''"+zone+"''', current_database()); END $$"); err != nil {
				t.Fatal(err)
			}
			r = at(t, r.db.Config().ConnString(), zone)
			expires := time.Now().In(time.FixedZone("far", 9*3600)).Add(time.Hour)
			row := r.record(t, r.intend(t, "w1", func(in *push.Intent) { in.Delivery.Event.ExpiresAt = expires }), push.NotSent)
			entry, attempts, err := r.Show(t.Context(), row.ID)
			if err != nil {
				t.Fatal(err)
			}
			for what, pair := range map[string][2]time.Time{
				"created_at":      {entry.CreatedAt, time.Now()},
				"next_attempt_at": {entry.NextAttemptAt, time.Now().Add(time.Minute)},
				"expires_at":      {entry.ExpiresAt, expires},
				"started_at":      {attempts[0].StartedAt, time.Now()},
			} {
				if off := pair[0].Sub(pair[1]).Abs(); off > 5*time.Second {
					t.Errorf("%s is %v off", what, off)
				}
			}
		})
	}
}

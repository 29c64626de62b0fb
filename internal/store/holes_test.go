package store_test

import (
	"testing"
	"time"

	"pusher/internal/push"
)

// The traces of docs/holes.md as far as the push log sees them. Redis is not asked: every claim is as good as granted.

func TestH1IntentNeverReplacesSending(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	first := r.intend(t, "w1")
	says(t, r.intend(t, "w2"), "sending(w1,1)") // the key was forgotten
	r.lapse(t, first)
	says(t, r.intend(t, "w2"), "unknown(w1,1)") // the row lease is over, but w1 may still send
	says(t, r.record(t, first, push.Accepted), "sent(w1,1)")
}

func TestH2ResultOfALostOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	first := r.intend(t, "w1")
	n := r.queue(t, r.record(t, first, push.NotSent)) // its answer got lost
	second := r.intend(t, "w2", retry(n))
	says(t, r.record(t, first, push.NotSent), "sending(w2,2)") // w1 repeats its write
	says(t, r.record(t, second, push.Accepted), "sent(w2,2)")
	says(t, r.record(t, first, push.NotSent), "sent(w2,2)")
	r.must(t, second.ID, "1", "retries_used")
}

func TestH3RepeatNotSentKeepsTheFirstAttemptsDoubt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, class := range []push.Class{push.NotSent, push.Permanent} {
		id := about(class.String())
		r.lapse(t, r.intend(t, "w1", of(push.WeChat), id)) // sent, accepted, crashed
		second := r.intend(t, "w2", of(push.WeChat), id)
		says(t, second, "sending(w2,2)")
		says(t, r.record(t, second, class), "unknown(w2,2)")
		r.must(t, second.ID, "f", "letter_due")
	}
}

func TestH4WindowDoesNotSlide(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1", of(push.WeChat)), push.Ambiguous)
	r.age(t, row, 5*time.Minute)
	row = one(t, r.Repeat(t.Context(), []push.Held{heldBy(row)}))
	row = r.record(t, row, push.Ambiguous)
	r.age(t, row, 5*time.Minute) // 10 minutes after the first, 5 after the second
	says(t, one(t, r.Repeat(t.Context(), []push.Held{heldBy(row)})), "unknown(w1,2)")
}

func TestH5WindowIsCheckedWhenSent(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1", of(push.WeChat)), push.Ambiguous)
	n := r.queue(t, row) // inside the window
	r.age(t, row, 10*time.Minute)
	says(t, r.intend(t, "w2", of(push.WeChat), retry(n)), "unknown(,2)")
}

func TestH9AttemptNumberIsNeverReused(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1"), push.Throttled)
	n := r.queue(t, row)
	r.must(t, row.ID, "2 0", "attempt, retries_used")
	says(t, r.intend(t, "w1", retry(1)), "queued(,2)") // a late intent of the first attempt
	says(t, r.intend(t, "w2", retry(n)), "sending(w2,2)")
	if _, err := r.db.Exec(t.Context(), "UPDATE push_log SET attempt = 1 WHERE id = $1", row.ID); err == nil {
		t.Error("the schema let an attempt go back")
	}
}

func TestH11GivingBackUndoesTheRow(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	says(t, one(t, r.Undo(t.Context(), []push.Held{heldBy(row)})), "failed(w1,1)")
	r.must(t, row.ID, "t", "lease_until IS NULL") // nothing left to be swept by
	says(t, r.intend(t, "w2"), "failed(w1,1)")    // not unknown for ever
}

func TestH12LateIntentMeetsItsTombstone(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	lost := []push.Intent{intend("w1")}
	says(t, one(t, r.UndoLost(t.Context(), lost)), "failed(,1)")
	says(t, one(t, r.Intend(t.Context(), lost)), "failed(,1)") // lands after all
	n := r.queue(t, push.Row{ID: 1, Attempt: 1})
	lost = []push.Intent{intend("w1", retry(n))}
	says(t, one(t, r.UndoLost(t.Context(), lost)), "failed(,2)")
	says(t, one(t, r.Intend(t.Context(), lost)), "failed(,2)")
	if told := r.attempts(t, push.Row{ID: 1}); told != "2:failed" {
		t.Errorf("timeline %q, want no attempt that never began", told)
	}
}

func TestH13WhatIsKnownForCertainCounts(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		name string
		word func(push.Row) push.Row
		want string
	}{
		{"accepted", func(row push.Row) push.Row { return r.record(t, row, push.Accepted) }, "sent(w1,1)"},
		{"not sent", func(row push.Row) push.Row { return r.record(t, row, push.NotSent) }, "failed(w1,1)"},
		{"permanent", func(row push.Row) push.Row { return r.record(t, row, push.Permanent) }, "dead(w1,1)"},
		{"undone", func(row push.Row) push.Row { return one(t, r.Undo(t.Context(), []push.Held{heldBy(row)})) }, "failed(w1,1)"},
	} {
		row := r.intend(t, "w1", about(c.name))
		r.lapse(t, row)
		says(t, r.intend(t, "w2", about(c.name)), "unknown(w1,1)") // w1 was frozen
		says(t, c.word(row), c.want)
	}
}

func TestH14OnlySendingIsAmbiguous(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1"), push.NotSent) // then w1 died with its key
	says(t, r.intend(t, "w2"), "failed(w1,1)")
	n := r.queue(t, row)
	says(t, r.intend(t, "w2"), "queued(,2)")
	says(t, r.intend(t, "w2", retry(n)), "sending(w2,2)")
}

func TestH16MainRecordOnlyCreates(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1"), push.NotSent)
	says(t, r.intend(t, "w2"), "failed(w1,1)")
	n := r.queue(t, row)
	says(t, r.intend(t, "w2"), "queued(,2)") // a producer's retry while the key is gone
	waiting := func(in *push.Intent) { in.Delivery.Event.NotBefore = time.Now().Add(time.Hour) }
	r.intend(t, "w1", about("later"), waiting)
	says(t, r.intend(t, "w2", about("later")), "deferred(,0)") // not_before is not bypassed
	says(t, r.intend(t, "w3", retry(n)), "sending(w3,2)")
	if got := r.intend(t, "w3", about("nothing"), retry(1)); got.Exists() {
		t.Errorf("a retry message made a row: %+v", got)
	}
}

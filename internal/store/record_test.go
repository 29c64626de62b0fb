package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestP1AcceptanceCountsWhoeverOwnsTheRow(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, status := range push.Statuses() {
		id := r.put(t, push.SMS, status, usualEnd(status, string(status)))
		before := r.say(t, id, "xmin")
		got := one(t, r.Record(t.Context(), []push.Result{{ID: id, Owner: "nobody", Attempt: 99, Class: push.Accepted,
			Provider: "tencent", MessageID: "serial-1"}}))
		if status.CanBecome(push.Sent) {
			r.must(t, id, "sent tencent serial-1 accepted t t f f f",
				"status, provider, provider_msg_id, outcome, sent_at = settled_at, recipient_full IS NULL, "+
					"coalesce(error_code, error_message) IS NOT NULL, next_attempt_at IS NOT NULL, lease_until IS NOT NULL")
			continue
		}
		if got.Status != status {
			t.Errorf("%s became %s by an acceptance", status, got.Status)
		}
		r.must(t, id, before, "xmin")
	}
}

func TestP1InAppCommitsItsMessageWithTheResult(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1", of(push.Notify))
	accepted := resultOf(row, push.Accepted)
	accepted.Inbox = &push.Inbox{UserID: "u1", Title: "Your resume\x00 was viewed", Body: "by \xff", Data: []byte(`{"a":1.10}`)}
	for range 2 { // the write whose answer got lost is repeated
		says(t, one(t, r.Record(t.Context(), []push.Result{accepted})), "sent(w1,1)")
	}
	var told string
	err := r.db.QueryRow(t.Context(), `SELECT concat_ws('|', delivery_id = $1, user_id, title, body, data, read_at)
		FROM inbox_message`, row.ID).Scan(&told)
	if want := `t|u1|Your resume was viewed|by ` + "\uFFFD" + `|{"a":1.10}`; err != nil || told != want {
		t.Errorf("inbox: %q, %v, want %q", told, err, want)
	}
}

func TestP1InAppOnlyByItsOwnAttempt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	lost := r.intend(t, "w1", of(push.Notify))
	r.lapse(t, lost)
	taken := r.intend(t, "w2", of(push.Notify))
	late := resultOf(lost, push.Accepted)
	late.Inbox = &push.Inbox{UserID: "u1", Title: "first"}
	says(t, one(t, r.Record(t.Context(), []push.Result{late})), "sending(w2,2)")
	own := resultOf(taken, push.Accepted)
	own.Inbox = &push.Inbox{UserID: "u1", Title: "second"}
	for _, answer := range r.Record(t.Context(), []push.Result{late, own, late}) {
		if answer.Err != nil {
			t.Error(answer.Err)
		}
	}
	r.must(t, taken.ID, "sent w2 2", "status, owner, attempt")
	if n := r.count(t, "SELECT count(*) FROM inbox_message WHERE title = 'second'"); n != 1 {
		t.Errorf("%d messages of the attempt that committed, want 1", n)
	}
	if n := r.count(t, "SELECT count(*) FROM inbox_message"); n != 1 {
		t.Errorf("%d messages in the inbox, want 1", n)
	}
}

func TestP2NotSentIsDueAgain(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for class, used := range map[push.Class]int{push.NotSent: 1, push.Throttled: 0, push.Account: 0} {
		row := r.intend(t, "w1", about(class.String()))
		for range 2 { // repeated after a lost answer: counted once
			says(t, r.record(t, row, class), "failed(w1,1)")
		}
		r.must(t, row.ID, fmt.Sprintf("%d %s isp.SYSTEM_ERROR busy t t", used, class),
			"retries_used, outcome, error_code, error_message, "+
				"next_attempt_at BETWEEN now() + interval '55 s' AND now() + interval '60 s', recipient_full IS NOT NULL")
	}
}

func TestP3PermanentIsDeadWithALetterDue(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	says(t, r.record(t, row, push.Permanent), "dead(w1,1)")
	r.must(t, row.ID, "t permanent t", "letter_due, outcome, recipient_full IS NOT NULL")
}

func TestP2AndP3WithAnEarlierAttemptInDoubtProveNothing(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, class := range []push.Class{push.NotSent, push.Throttled, push.Account, push.Permanent} {
		row := r.record(t, r.intend(t, "w1", of(push.WeChat), about(class.String())), push.Ambiguous)
		row = one(t, r.Repeat(t.Context(), []push.Held{heldBy(row)}))
		says(t, row, "sending(w1,2)")
		for range 2 {
			says(t, r.record(t, row, class), "unknown(w1,2)")
		}
		r.must(t, row.ID, "1 f t", "retries_used, letter_due, next_attempt_at IS NULL")
	}
}

func TestP2AndP3AndU1OnlyByTheOwnerOfTheAttempt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	other, earlier, later := row, row, row
	other.Owner, earlier.Attempt, later.Attempt = "w2", 0, 2
	for _, stranger := range []push.Row{other, earlier, later} {
		for _, class := range []push.Class{push.NotSent, push.Permanent, push.Ambiguous} {
			says(t, r.record(t, stranger, class), "sending(w1,1)")
		}
		says(t, one(t, r.Undo(t.Context(), []push.Held{heldBy(stranger)})), "sending(w1,1)")
		if got := r.Renew(t.Context(), []push.Held{heldBy(stranger)}); got[0].Mine || got[0].Err != nil {
			t.Errorf("a stranger renewed: %+v", got)
		}
	}
}

func TestP4AmbiguousCountsFromTheFirstIntent(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, a := range []push.Action{push.SMS, push.WeChat} {
		row := r.intend(t, "w1", of(a))
		r.age(t, row, 3*time.Minute)
		for range 2 {
			got := r.record(t, row, push.Ambiguous)
			says(t, got, "unknown(w1,1)")
			if got.AmbiguousAge < 3*time.Minute || got.RetriesUsed != 0 {
				t.Errorf("%s: %+v, want in doubt since its intent", a, got)
			}
		}
		r.must(t, row.ID, "t ambiguous", "ambiguous_since = intent_at, outcome")
	}
}

func TestRecordingAClassNobodyKnowsIsAmbiguous(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	says(t, r.record(t, r.intend(t, "w1"), push.Class(99)), "unknown(w1,1)")
}

func TestTextIsCleanedSoThatNoResultIsRefused(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1", func(in *push.Intent) { in.Worker = "ho\x00st\xed\xa0\x80" })
	r.must(t, row.ID, "host\uFFFD", "worker")
	result := resultOf(row, push.NotSent)
	result.Code, result.Message = "a\x00b", strings.Repeat("短", 5000)+"\xff"
	says(t, one(t, r.Record(t.Context(), []push.Result{result})), "failed(w1,1)")
	r.must(t, row.ID, "ab 1000", "error_code, length(error_message)")
}

package store_test

import (
	"testing"
	"time"

	"pusher/internal/push"
)

func TestAuditFindsInTheLogWhatWasAcceptedTwice(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	once := r.record(t, r.intend(t, "w1", about("once")), push.NotSent)
	r.record(t, r.intend(t, "w2", about("once"), retry(r.queue(t, once))), push.Accepted)
	twice := r.put(t, push.SMS, push.Sent, columns{"attempt": "2", "outcome": "'accepted'", "possible_duplicate": "true"})
	if _, err := r.db.Exec(t.Context(), `INSERT INTO push_attempt (delivery_id, attempt, outcome, started_at, finished_at, owner)
		VALUES ($1, 1, 'accepted', now(), now(), 'w1')`, twice); err != nil {
		t.Fatal(err)
	}
	told := r.put(t, push.SMS, push.Sent, nil)
	if _, err := r.db.Exec(t.Context(), `INSERT INTO push_receipt (provider, status, provider_msg_id, raw, digest, matched_at, delivery_id, effect)
		SELECT 'aliyun', 'delivered', n::text, '', decode(lpad(n::text, 2, '0'), 'hex'), now(), $1, 'late' FROM generate_series(1, 2) n`, told); err != nil {
		t.Fatal(err)
	}
	got := check[[]push.Twice](t)(r.Twice(t.Context(), from, to))
	if len(got) != 2 || got[0].ID != twice || !got[0].Known || got[0].What != "attempts 1, 2 were all accepted" ||
		got[1].ID != told || got[1].Known || got[1].What != "receipts say that 2 messages arrived" {
		t.Errorf("got %+v", got)
	}
	if later := check[[]push.Twice](t)(r.Twice(t.Context(), to, to.Add(time.Hour))); len(later) > 0 {
		t.Errorf("later: %+v", later)
	}
}

func TestAuditFindsMessagesWithoutDelivery(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1", of(push.Notify))
	result := resultOf(row, push.Accepted)
	result.Inbox = &push.Inbox{UserID: "u1", Title: "t", Body: "b"}
	says(t, one(t, r.Record(t.Context(), []push.Result{result})), "sent(w1,1)")
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if got := check[[]push.Stray](t)(r.Strays(t.Context(), from, to)); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
	if _, err := r.db.Exec(t.Context(), "DELETE FROM push_log"); err != nil {
		t.Fatal(err)
	}
	if got := check[[]push.Stray](t)(r.Strays(t.Context(), from, to)); len(got) != 1 || got[0].DeliveryID != row.ID {
		t.Errorf("got %+v", got)
	}
}

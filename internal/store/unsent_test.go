package store_test

import (
	"context"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/store"
)

func TestUnsentAgeIsByStatusAndKnowsWhatIsLate(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	unsent := func() map[push.Status]store.Unsent {
		t.Helper()
		list, err := r.UnsentAge(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		by := map[push.Status]store.Unsent{}
		for _, u := range list {
			by[u.Status] = u
		}
		return by
	}
	if got := unsent(); len(got) != 0 {
		t.Errorf("an empty log: got %+v", got)
	}
	r.put(t, push.SMS, push.Sent, nil)
	r.put(t, push.SMS, push.Unknown, nil)
	r.put(t, push.SMS, push.Sending, nil)
	r.put(t, push.SMS, push.Failed, columns{"created_at": "now() - interval '1 hour'", "next_attempt_at": "now() - interval '10 min'"})
	r.put(t, push.SMS, push.Deferred, columns{"created_at": "now() - interval '1 day'", "next_attempt_at": "now() + interval '1 day'"})
	got := unsent()
	if len(got) != 3 {
		t.Fatalf("got %+v, want failed, sending and deferred: what is sent or unknown is not unsent", got)
	}
	if d := got[push.Deferred]; d.Count != 1 || d.Oldest > 0 || d.Late > 0 {
		t.Errorf("deferred: got %+v, want one that is not due", d)
	}
	if f := got[push.Failed]; f.Count != 1 || far(f.Oldest, time.Hour) || far(f.Late, 10*time.Minute) {
		t.Errorf("failed: got %+v", f)
	}
	if s := got[push.Sending]; s.Count != 1 || s.Oldest > time.Minute || s.Late > 0 {
		t.Errorf("sending: got %+v, want a lease that runs", s)
	}
}

// far reports whether got is not about want.
func far(got, want time.Duration) bool { return got < want || got > want+time.Minute }

func TestParkedReceiptsAreCounted(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	if n, _, err := r.ParkedReceipts(t.Context()); n != 0 || err != nil {
		t.Errorf("an empty log: %d, %v", n, err)
	}
	kept, err := r.KeepReceipts(t.Context(), []push.Receipt{
		{Provider: "aliyun", Report: push.ReportDelivered, MessageID: "m1", Raw: "{}", Digest: []byte("1")},
		{Provider: "aliyun", Report: push.ReportUnreadable, Raw: "{", Digest: []byte("2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.db.Exec(t.Context(), `UPDATE push_receipt SET received_at = now() - interval '1 hour' WHERE id = $1`, kept[0].ID); err != nil {
		t.Fatal(err)
	}
	if n, oldest, err := r.ParkedReceipts(t.Context()); n != 1 || far(oldest, time.Hour) || err != nil {
		t.Errorf("got %d, %v, %v, want one: what cannot be read waits for nothing", n, oldest, err)
	}
}

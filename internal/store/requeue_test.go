package store_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"pusher/internal/push"
)

// moves is one row before and after a statement of the compensator.
type moves struct {
	name   string
	action push.Action
	status push.Status
	over   columns
	want   string // what the row says afterwards
}

const stands = "status || '(' || attempt || ')'"

func TestQ1RequeuesWhatIsDue(t *testing.T) {
	t.Parallel()
	for _, c := range []moves{
		{"failed, due", push.SMS, push.Failed, nil, "queued(2) 1"},
		{"deferred at first sight", push.SMS, push.Deferred, nil, "queued(1) 0"},
		{"deferred later, throttled: no retry used", push.SMS, push.Deferred, columns{"attempt": "3"}, "queued(4) 0"},
		{"not due yet", push.SMS, push.Failed, columns{"next_attempt_at": "now() + interval '1 min'"}, "failed(1) 1"},
		{"last retry", push.SMS, push.Failed, columns{"retries_used": "4"}, "queued(2) 4"},
		{"retries used up", push.SMS, push.Failed, columns{"retries_used": "5"}, "failed(1) 5"},
		{"past expires_at", push.SMS, push.Failed, columns{"expires_at": "now() - interval '1 s'"}, "failed(1) 1"},
		{"before expires_at", push.SMS, push.Failed, columns{"expires_at": "now() + interval '1 min'"}, "queued(2) 1"},
		{"unknown is nobody's to re-queue", push.SMS, push.Unknown, nil, "unknown(1) 0"},
		{"sending is nobody's to re-queue", push.SMS, push.Sending, nil, "sending(1) 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			id := r.put(t, c.action, c.status, c.over)
			check[[]push.Poke](t)(r.Requeue(context.Background(), 10, policy(), ""))
			r.must(t, id, c.want, stands, "retries_used")
		})
	}
}

func TestQ1FilesTheAttemptThatEnds(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Failed, columns{"attempt": "2", "published_at": "now()"})
	r.put(t, push.SMS, push.Deferred, nil) // attempt 0: nothing to file
	check[[]push.Poke](t)(r.Requeue(context.Background(), 10, policy(), ""))

	var filed string
	err := r.db.QueryRow(context.Background(), `SELECT string_agg(concat_ws(' ', delivery_id = $1, attempt, outcome,
		error_code, error_message, owner, started_at IS NOT NULL), ';') FROM push_attempt`, id).Scan(&filed)
	if want := "t 2 not_sent isp.SYSTEM_ERROR busy w1 t"; err != nil || filed != want {
		t.Errorf("filed attempts: %q, %v; want %q", filed, err, want)
	}
	r.must(t, id, "0", "num_nonnulls(owner, intent_at, next_attempt_at, published_at)")
}

func TestQ1KeepsTheAmbiguity(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.WeChat, push.Deferred, columns{"ambiguous_since": "'2026-01-01 00:00:00+00'"})
	check[[]push.Poke](t)(r.Requeue(context.Background(), 10, policy(), ""))
	r.must(t, id, "queued(1) t", stands, "ambiguous_since = '2026-01-01 00:00:00+00'")
}

func TestQ1ReturnsWhatARetryNeeds(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Failed, columns{"dedup_id": "'d1'", "round": "3", "event": `'{"a": 1.00}'`})
	pokes := check[[]push.Poke](t)(r.Requeue(context.Background(), 10, policy(), ""))
	if len(pokes) != 1 {
		t.Fatalf("%d pokes, want 1", len(pokes))
	}
	got := pokes[0]
	if !bytes.Equal(got.Event, []byte(`{"a": 1.00}`)) {
		t.Errorf("event %s is not the text as received", got.Event)
	}
	got.Event = nil
	want := push.Poke{
		Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "d1", Action: push.SMS},
		ID:       id, BizID: "10248", Round: 3, Attempt: 2, UserID: "u1", Recipient: "+8613800138000",
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
	}
	if got.Identity != want.Identity || got.ID != want.ID || got.Round != want.Round || got.Attempt != want.Attempt ||
		got.BizID != want.BizID || got.UserID != want.UserID || got.Recipient != want.Recipient || got.TraceID != want.TraceID {
		t.Errorf("poke %+v, want %+v", got, want)
	}
}

// Two passes at once, each in small batches: every row is re-queued exactly once.
func TestQ1TwoPassesShareTheRows(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	const total = 500
	for range total {
		r.put(t, push.SMS, push.Failed, nil)
	}
	var both [2][]push.Poke
	var wg sync.WaitGroup
	for pass := range both {
		wg.Go(func() {
			for {
				pokes, err := r.Requeue(context.Background(), 7, policy(), "")
				if err != nil {
					t.Error(err)
				}
				if len(pokes) == 0 {
					return
				}
				both[pass] = append(both[pass], pokes...)
			}
		})
	}
	wg.Wait()
	all := ids(append(both[0], both[1]...))
	if len(all) != total || len(slices.Compact(all)) != total {
		t.Errorf("%d re-queued of %d rows, %d different ones", len(all), total, len(slices.Compact(all)))
	}
	var twos int
	if err := r.db.QueryRow(context.Background(), "SELECT count(*) FROM push_log WHERE status = 'queued' AND attempt = 2").Scan(&twos); err != nil || twos != total {
		t.Errorf("%d rows queued(2), %v; want %d", twos, err, total)
	}
}

// A row that somebody else has locked is left to them, at once.
func TestQ1DoesNotWaitForALockedRow(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	locked, free := r.put(t, push.SMS, push.Failed, nil), r.put(t, push.SMS, push.Failed, nil)
	ctx := context.Background()
	tx, err := r.db.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, "SELECT FROM push_log WHERE id = $1 FOR UPDATE", locked); err != nil {
		t.Fatal(err)
	}
	got := ids(check[[]push.Poke](t)(r.Requeue(ctx, 10, policy(), "")))
	if !slices.Equal(got, []int64{free}) {
		t.Errorf("re-queued %v, want only %d", got, free)
	}
}

func TestQ2PublishesAgainAfterThePatience(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		over columns
		want bool
	}{
		{"never published, inside the patience", columns{"updated_at": "now() - interval '59 s'"}, false},
		{"never published, patience over", columns{"updated_at": "now() - interval '61 s'"}, true},
		{"published at once, patience over", columns{"updated_at": "now() - interval '62 s'", "published_at": "now() - interval '61 s'"}, true},
		{"published again at one minute: waits one more", columns{"updated_at": "now() - interval '115 s'", "published_at": "now() - interval '55 s'"}, false},
		{"published again at two minutes: waits two", columns{"updated_at": "now() - interval '230 s'", "published_at": "now() - interval '110 s'"}, false},
		{"published again at two minutes, two over", columns{"updated_at": "now() - interval '245 s'", "published_at": "now() - interval '123 s'"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			id := r.put(t, push.SMS, push.Queued, c.over)
			before := r.say(t, id, "updated_at")
			ctx := context.Background()
			got := check[[]push.Poke](t)(r.Unpublished(ctx, 10, 2*policy().Lease))
			if (len(got) == 1) != c.want {
				t.Errorf("picked %d, want %v", len(got), c.want)
			}
			if again := check[[]push.Poke](t)(r.Unpublished(ctx, 10, 2*policy().Lease)); len(again) != 0 {
				t.Errorf("picked again at once")
			}
			r.must(t, id, "queued(2) "+before, stands, "updated_at")
		})
	}
}

func TestQ2MarksOnlyTheAttemptThatWasPublished(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	same, later := r.put(t, push.SMS, push.Queued, nil), r.put(t, push.SMS, push.Queued, columns{"attempt": "3"})
	taken := r.put(t, push.SMS, push.Sending, columns{"attempt": "2"})
	err := r.MarkPublished(context.Background(), []push.Poke{
		{ID: same, Attempt: 2}, {ID: later, Attempt: 2}, {ID: taken, Attempt: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.must(t, same, "t", "published_at IS NOT NULL")
	r.must(t, later, "f", "published_at IS NOT NULL")
	r.must(t, taken, "f", "published_at IS NOT NULL")
}

package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

// change says in what an intent differs from the usual one.
type change func(*push.Intent)

// intend is an intent for one delivery of owner's claim: SMS, not in a hurry, two retries.
func intend(owner string, changes ...change) push.Intent {
	in := push.Intent{
		Delivery: &push.Delivery{
			Identity: push.Identity{BizType: "resume_viewed", DedupID: "10248", Action: push.SMS},
			BizID:    "10248",
			Event: &push.Event{
				Recipient:   push.Recipient{UserID: "u1"},
				EventID:     "e1",
				TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
				Raw:         []byte(`{"biz_type":"resume_viewed","biz_id":9007199254740993}`),
			},
			Origin: push.Origin{Topic: "push-events", Partition: 3, Offset: 42, Time: time.Now()},
			Window: 24 * time.Hour,
		},
		Owner: owner, Lease: 30 * time.Second, Provider: "aliyun", Worker: "host-1",
		Recipient: "138****8000", RecipientHash: []byte{1, 2, 3}, RecipientFull: "+8613800138000",
		ResendWithin: 9 * time.Minute, MaxAttempts: 3,
	}
	for _, c := range changes {
		c(&in)
	}
	return in
}

func of(a push.Action) change { return func(in *push.Intent) { in.Delivery.Action = a } }

func about(dedupID string) change { return func(in *push.Intent) { in.Delivery.DedupID = dedupID } }

func retry(attempt int) change {
	return func(in *push.Intent) { in.Delivery.Retry = &push.Retry{Round: 1, Attempt: attempt} }
}

func recorded(at time.Time) change { return func(in *push.Intent) { in.Delivery.Origin.Time = at } }

// one is the answer to a batch of one.
func one(t *testing.T, answers []push.Answer) push.Row {
	t.Helper()
	if len(answers) != 1 || answers[0].Err != nil {
		t.Fatalf("answers: %+v, want one without error", answers)
	}
	return answers[0].Row
}

// intend asks for one intent.
func (r rows) intend(t *testing.T, owner string, changes ...change) push.Row {
	t.Helper()
	return one(t, r.Intend(t.Context(), []push.Intent{intend(owner, changes...)}))
}

// record writes one result of the attempt that row stands for.
func (r rows) record(t *testing.T, row push.Row, c push.Class) push.Row {
	t.Helper()
	return one(t, r.Record(t.Context(), []push.Result{resultOf(row, c)}))
}

func resultOf(row push.Row, c push.Class) push.Result {
	return push.Result{ID: row.ID, Owner: row.Owner, Attempt: row.Attempt, Class: c, Provider: "aliyun",
		MessageID: "m1", Code: "isp.SYSTEM_ERROR", Message: "busy", Wait: time.Minute}
}

func heldBy(row push.Row) push.Held {
	return push.Held{ID: row.ID, Owner: row.Owner, Attempt: row.Attempt, Lease: time.Minute,
		ResendWithin: 9 * time.Minute, MaxAttempts: 3}
}

// word is a row's answer in short: status(owner,attempt).
func word(r push.Row) string { return fmt.Sprintf("%s(%s,%d)", r.Status, r.Owner, r.Attempt) }

// says fails the test unless the row's answer is want.
func says(t *testing.T, r push.Row, want string) {
	t.Helper()
	if got := word(r); got != want {
		t.Errorf("the row says %s, want %s", got, want)
	}
}

// lapse ends the row's lease.
func (r rows) lapse(t *testing.T, row push.Row) {
	t.Helper()
	r.do(t, row.ID, "lease_until = now() - interval '1 s'")
}

// age moves the row's intent into the past.
func (r rows) age(t *testing.T, row push.Row, d time.Duration) {
	t.Helper()
	r.do(t, row.ID, fmt.Sprintf("intent_at = intent_at - interval '%d s', ambiguous_since = ambiguous_since - interval '%d s'",
		int(d.Seconds()), int(d.Seconds())))
}

// queue re-queues a row for its next attempt, as the compensator does.
func (r rows) queue(t *testing.T, row push.Row) int {
	t.Helper()
	r.do(t, row.ID, "status = 'queued', attempt = attempt + 1, next_attempt_at = NULL, settled_at = NULL, letter_due = false")
	return row.Attempt + 1
}

// count is the number that a query returns.
func (r rows) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := r.db.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("counting: %v", err)
	}
	return n
}

// attempts tells the timeline of a delivery: attempt:outcome, the current one last.
func (r rows) attempts(t *testing.T, row push.Row) string {
	t.Helper()
	_, list, err := r.Show(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, a := range list {
		told = append(told, fmt.Sprintf("%d:%s", a.Attempt, a.Outcome))
	}
	return strings.Join(told, " ")
}

package store_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

// stageBatch is what a busy pusher sends at once.
const stageBatch = 300

// delivered numbers the deliveries of all stages.
var delivered atomic.Int64

// unseen is a batch of intents of deliveries that nobody has seen before.
func unseen(a push.Action) []push.Intent {
	batch := make([]push.Intent, stageBatch)
	for i := range batch {
		n := delivered.Add(1)
		id := strconv.FormatInt(n, 10)
		batch[i] = push.Intent{
			Delivery: &push.Delivery{
				Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: id, Action: a}, BizID: id,
				Event: &push.Event{
					Recipient: push.Recipient{UserID: "u" + strconv.FormatInt(n%100_000, 10)}, EventID: "evt-" + id,
					Raw: fmt.Appendf(nil, `{"biz_type":"resume_viewed","biz_id":%s,"params":{"company":"Example Trading Co.","position":"Sales manager"}}`, id),
				},
				Origin: push.Origin{Topic: "push-events", Partition: int(n % 8), Offset: n, Time: time.Now()}, Window: 24 * time.Hour,
			},
			Owner: push.NewOwner(), Lease: 30 * time.Second, Provider: "aliyun", Worker: "host/1", MaxAttempts: 8,
			Recipient: "138******00", RecipientHash: push.HashRecipient(id, []byte("bench-bench-bench")), RecipientFull: "+8613800138000",
		}
	}
	return batch
}

// accepted is the results of a batch whose intents were granted.
func accepted(b *testing.B, batch []push.Intent, answers []push.Answer) []push.Result {
	b.Helper()
	results := make([]push.Result, len(answers))
	for i, a := range answers {
		if a.Err != nil || !a.Row.MayBeSent(batch[i].Owner) {
			b.Fatalf("answer %+v, want one that may be sent", a)
		}
		results[i] = push.Result{
			ID: a.Row.ID, Owner: batch[i].Owner, Attempt: a.Row.Attempt, Class: push.Accepted, Provider: "aliyun",
			MessageID: "m" + strconv.FormatInt(a.Row.ID, 10),
		}
		if batch[i].Delivery.Action == push.Notify {
			results[i].Provider, results[i].MessageID = "inbox", ""
			results[i].Inbox = &push.Inbox{UserID: "u1", Title: "Your resume was viewed", Body: "Example Trading Co. viewed your resume", Data: []byte(`{"company":"Example Trading Co."}`)}
		}
	}
	return results
}

// backend is the CPU time, in microseconds, that PostgreSQL's sessions of the pool have used; 0 where PostgreSQL runs
// elsewhere.
func backend(b *testing.B, db *pgx.Conn) float64 {
	b.Helper()
	rows, err := db.Query(context.Background(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stages'`)
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		ran, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseFloat(ran, 64)
		sum += ns / 1000
	}
	return sum
}

// Each operation is one delivery: ns/op is a delivery's share of its batch, pg-us/op what PostgreSQL computes for it,
// which a busy machine does not change.
func BenchmarkStages(b *testing.B) {
	url := testbed.Postgres(b)
	db, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close(context.Background()) })
	s, err := store.Open(b.Context(), store.Config{URL: url, MaxConns: 1, Name: "stages"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	for _, a := range []push.Action{push.SMS, push.Notify} {
		b.Run("intend/"+string(a), func(b *testing.B) {
			used := backend(b, db)
			for n := 0; n < b.N; n += stageBatch {
				b.StopTimer()
				batch := unseen(a)
				b.StartTimer()
				s.Intend(context.Background(), batch)
			}
			b.ReportMetric((backend(b, db)-used)/float64(b.N), "pg-us/op")
		})
		b.Run("record/"+string(a), func(b *testing.B) {
			used := 0.0
			for n := 0; n < b.N; n += stageBatch {
				b.StopTimer()
				batch := unseen(a)
				results := accepted(b, batch, s.Intend(context.Background(), batch))
				before := backend(b, db)
				b.StartTimer()
				s.Record(context.Background(), results)
				b.StopTimer()
				used += backend(b, db) - before
			}
			b.ReportMetric(used/float64(b.N), "pg-us/op")
		})
	}
}

package compensate_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"pusher/internal/compensate"
	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

// topic is a Kafka that remembers what was written to it.
type topic struct {
	before func() error // called ahead of each write; its error refuses the batch
	after  func() error // called after each write: what is written stays written

	mu      sync.Mutex
	writes  int            // guarded by mu
	written map[string]int // guarded by mu; copies by topic, dedup id and attempt
}

func (k *topic) Publish(_ context.Context, records []push.Record) error {
	if k.before != nil {
		if err := k.before(); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.writes++
	if k.written == nil {
		k.written = make(map[string]int)
	}
	for _, r := range records {
		asked, _ := r.Retry()
		k.written[fmt.Sprintf("%s %s(%d)", r.Topic, asked.DedupID, asked.Attempt)]++
	}
	if k.after != nil {
		return k.after()
	}
	return nil
}

// copies returns what was written, and forgets it.
func (k *topic) copies() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	written := maps.Clone(k.written)
	clear(k.written)
	return written
}

// must fails the test unless exactly these copies were written since the last call.
func (k *topic) must(t *testing.T, want map[string]int) {
	t.Helper()
	if got := k.copies(); !maps.Equal(got, want) {
		t.Errorf("written %v, want %v", got, want)
	}
}

// scene is a push log of the test's own, with a pass over it.
type scene struct {
	*store.Store

	db    *pgxpool.Pool
	kafka *topic
}

func open(t *testing.T) scene {
	t.Helper()
	url := testbed.Postgres(t)
	s, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	db, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return scene{Store: s, db: db, kafka: &topic{}}
}

// keyless is a Redis without a word to say.
type keyless struct{}

func (keyless) Reconcile(
	context.Context, []push.Identity, func(push.Identity) time.Duration, func(context.Context, []push.Lookup) []push.Answer,
) (push.Tally, error) {
	return push.Tally{}, nil
}

// pass is one compensator process.
func (s scene) pass(asker compensate.Asker) *compensate.Pass {
	askers := map[string]compensate.Asker{}
	if asker != nil {
		askers["aliyun"] = asker
	}
	return compensate.New(compensate.Config{
		Policy: push.Policy{
			MaxAttempts: 5, Lease: 30 * time.Second, ResendWithin: 9 * time.Minute,
			SMS:    push.Doubt{AskFor: 15 * time.Minute, Timeout: 5 * time.Second, HoldMax: 72 * time.Hour},
			WeChat: push.Doubt{Timeout: 5 * time.Second, HoldMax: 72 * time.Hour},
		},
		RetryTopic: "retry", DeadLetterTopic: "dlq", Batch: 100, KeepUnmatched: time.Hour, Budget: time.Minute, Call: 10 * time.Second, Now: time.Now,
	}, compensate.Ports{
		Queue: s, Sweeper: s, Unknowns: s, Hints: s, Ender: s, Letterbox: s, Forecast: s, Receipts: s, Memory: s, Hours: s, Pruner: s, Keys: keyless{}, Publisher: s.kafka, Askers: askers,
	})
}

// run runs one pass that must not fail.
func (s scene) run(t *testing.T) compensate.Summary {
	t.Helper()
	got, err := s.pass(nil).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// begin claims n SMS and writes their intents, as a pusher does; changes alter each event.
func (s scene) begin(t *testing.T, n int, changes ...func(*push.Event)) []push.Row {
	t.Helper()
	intents := make([]push.Intent, n)
	for i := range intents {
		intents[i] = s.intent(i, nil)
		for _, change := range changes {
			change(intents[i].Delivery.Event)
		}
	}
	return answered(t, s.Intend(t.Context(), intents))
}

// intent is that of the i-th SMS, for its first attempt or for the one that retry asks for.
func (s scene) intent(i int, retry *push.Retry) push.Intent {
	return push.Intent{
		Delivery: &push.Delivery{
			Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: strconv.Itoa(i), Action: push.SMS},
			BizID:    strconv.Itoa(i), Event: &push.Event{Raw: fmt.Appendf(nil, `{"biz_type":"resume_viewed","biz_id":%d}`, i)},
			Retry: retry, Origin: push.Origin{Topic: "push-events", Time: time.Now()}, Window: time.Hour,
		},
		Owner: push.NewOwner(), Lease: 30 * time.Second, Provider: "aliyun", RecipientFull: "+8613800138000", MaxAttempts: 5,
	}
}

// end records the same outcome of every attempt, due again after wait.
func (s scene) end(t *testing.T, rows []push.Row, class push.Class, wait time.Duration) []push.Row {
	t.Helper()
	results := make([]push.Result, len(rows))
	for i, r := range rows {
		results[i] = push.Result{ID: r.ID, Owner: r.Owner, Attempt: r.Attempt, Class: class, Provider: "aliyun",
			Code: "isp.SYSTEM_ERROR", Wait: wait}
	}
	return answered(t, s.Record(t.Context(), results))
}

// answered returns the rows of answers without error.
func answered(t *testing.T, answers []push.Answer) []push.Row {
	t.Helper()
	rows := make([]push.Row, len(answers))
	for i, a := range answers {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		rows[i] = a.Row
	}
	return rows
}

// later lets time pass, for every row.
func (s scene) later(t *testing.T, d time.Duration) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), `UPDATE push_log SET updated_at = updated_at - $1::interval,
		published_at = published_at - $1::interval, next_attempt_at = next_attempt_at - $1::interval,
		intent_at = intent_at - $1::interval, ambiguous_since = ambiguous_since - $1::interval,
		lease_until = lease_until - $1::interval, expires_at = expires_at - $1::interval`, d)
	if err != nil {
		t.Fatal(err)
	}
}

// count counts rows.
func (s scene) count(t *testing.T, where string) int {
	t.Helper()
	var n int
	if err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM push_log WHERE "+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

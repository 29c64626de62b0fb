package protocol

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

// reality is what the model is held against: scripts on a Redis, statements on PostgreSQL.
type reality struct {
	store *store.Store
	db    *pgxpool.Pool
	redis *redis.Client
	keys  *dedup.Keys
}

// onMiniredis and onRedis are the two kinds of Redis; PostgreSQL is always a real one.
func onMiniredis(t *testing.T) *redis.Options {
	t.Helper()
	return &redis.Options{Addr: miniredis.RunT(t).Addr()}
}

func onRedis(t *testing.T) *redis.Options {
	t.Helper()
	return testbed.Redis(t)
}

// begin opens a push log and a Redis of the test's own.
func begin(t *testing.T, options *redis.Options) reality {
	t.Helper()
	ctx := context.Background()
	url := testbed.Postgres(t)
	s, err := store.Open(ctx, store.Config{URL: url, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	db, err := pgxpool.New(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return reality{store: s, db: db, redis: client, keys: dedup.New(client, rules().Lease)}
}

// rules are limits that lie at least ten seconds off every whole minute (see the package comment).
func rules() Rules {
	doubt := push.Doubt{AskFor: 15*time.Minute + 30*time.Second, Timeout: 5 * time.Second, HoldMax: 72*time.Hour + 30*time.Second}
	return Rules{
		Policy: push.Policy{
			MaxAttempts: 4, Lease: 75 * time.Second, ResendWithin: 8*time.Minute + 30*time.Second, SMS: doubt, WeChat: doubt,
		},
		Window: 24*time.Hour + 30*time.Second,
	}
}

// world is one delivery, in the model and in reality.
type world struct {
	rapid.TB
	reality
	Rules

	action   push.Action
	log      *Log
	key      Key
	provider *Provider
	event    Intent // what every main message of the delivery carries

	start, now time.Time // by the model's clock
	mark       time.Time // by this machine's clock, when the model's was moved last
	slow       bool      // this machine stood still for longer than the limits allow
	workers    []*worker
	late       []write        // statements on their way that nobody waits for
	published  []push.Retry   // retry messages on their topic
	snapshot   *snapshot      // an older copy of the key
	looks      []*look        // repairs under way
	before     map[int]Row    // what each round said at the last check
	steps      map[string]int // how often each step was made
}

// write is a statement that may land at any time later.
type write struct {
	what string
	land func()
}

// modelBegin is when the model's time begins: any whole minute.
func modelBegin() time.Time { return time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC) }

// newWorld empties reality and begins a delivery.
func newWorld(t rapid.TB, r reality, rules Rules, action push.Action) *world {
	t.Helper()
	w := &world{
		TB: t, reality: r, Rules: rules, action: action, key: Absent(),
		start: modelBegin(), now: modelBegin(), mark: time.Now(),
		before: make(map[int]Row), steps: make(map[string]int),
	}
	clock := func() time.Time { return w.now }
	w.log = &Log{Rules: rules, Action: action, Now: clock}
	w.provider = &Provider{Action: action, Now: clock}
	w.exec("DELETE FROM push_log")
	w.exec("DELETE FROM inbox_message")
	w.must(w.redis.Del(w.ctx(), w.id().Key()).Err())
	return w
}

// tolerance is how long the steps between two moves of the clock may take (see the package comment).
const tolerance = 8 * time.Second

// Fatalf fails the walk, unless this machine was too slow for its answers to mean anything: then it is given up.
func (w *world) Fatalf(format string, args ...any) {
	w.Helper()
	if w.slow || time.Since(w.mark) > tolerance {
		w.Skipf("too slow to tell: "+format, args...)
	}
	w.TB.Fatalf(format, args...)
}

func (w *world) ctx() context.Context { return context.Background() }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("reality: %v", err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.db.Exec(w.ctx(), sql, args...)
	w.must(err)
}

func (w *world) id() push.Identity {
	return push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: w.action}
}

// realTime is a time of the model as reality sees it now.
func (w *world) realTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Now().Add(t.Sub(w.now))
}

// modelTime is the inverse: exact but for the moments that the walk takes.
func (w *world) modelTime(t time.Time) time.Time { return w.now.Add(time.Until(t)) }

// near reports whether reality's t (nil: none) is the model's want (zero: none).
func (w *world) near(t *time.Time, want time.Time) bool {
	if t == nil || t.IsZero() || want.IsZero() {
		return (t == nil || t.IsZero()) == want.IsZero()
	}
	return w.modelTime(*t).Sub(want).Abs() < 30*time.Second
}

// pass lets d go by: the model's clock goes on, and all that reality stores moves into the past by d less the moments
// that went by themselves.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.slow = w.slow || time.Since(w.mark) > tolerance
	by := (d - time.Since(w.mark)).Truncate(time.Millisecond)
	w.mark, w.now = time.Now(), w.now.Add(d)
	w.exec(`UPDATE push_log SET intent_at = intent_at - $1::interval, lease_until = lease_until - $1::interval,
		ambiguous_since = ambiguous_since - $1::interval, finished_at = finished_at - $1::interval,
		next_attempt_at = next_attempt_at - $1::interval, published_at = published_at - $1::interval,
		expires_at = expires_at - $1::interval, next_ask_at = next_ask_at - $1::interval,
		record_time = record_time - $1::interval, created_at = created_at - $1::interval,
		updated_at = updated_at - $1::interval, settled_at = settled_at - $1::interval, sent_at = sent_at - $1::interval`, by)
	w.ageKey(by)
	for _, x := range w.workers {
		x.row.UpdatedAt, x.row.SettledAt = ago(x.row.UpdatedAt, by), ago(x.row.SettledAt, by)
	}
	for _, l := range w.looks {
		l.row.UpdatedAt, l.row.SettledAt = ago(l.row.UpdatedAt, by), ago(l.row.SettledAt, by)
	}
	if w.key.State != push.KeyAbsent && !w.key.Expires.After(w.now) {
		w.key = Absent()
	}
	if w.snapshot != nil && !w.snapshot.model.Expires.After(w.now) {
		w.snapshot = nil
	}
}

func ago(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-by)
}

// did counts a step.
func (w *world) did(what string) { w.steps[what]++ }

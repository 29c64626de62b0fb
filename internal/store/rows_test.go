package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"pusher/internal/push"
	"pusher/internal/store"
)

// policy is that of the compensator's tests: the contract's defaults, with fewer attempts.
func policy() push.Policy {
	return push.Policy{
		MaxAttempts:  5,
		Lease:        30 * time.Second,
		ResendWithin: 9 * time.Minute,
		SMS:          push.Doubt{AskFor: 15 * time.Minute, Timeout: 5 * time.Second, HoldMax: 72 * time.Hour},
		WeChat:       push.Doubt{Timeout: 5 * time.Second, HoldMax: 72 * time.Hour},
	}
}

// columns are SQL expressions by column.
type columns map[string]string

// usual is what a row of each status looks like when nothing else is said: everything due, nothing over.
func usual(status push.Status) columns {
	ended := columns{"attempt": "1", "owner": "'w1'", "intent_at": "now() - interval '1 min'", "finished_at": "now()"}
	with := func(more columns) columns {
		maps.Copy(ended, more)
		return ended
	}
	switch status {
	case push.Sending:
		return columns{"attempt": "1", "owner": "'w1'", "intent_at": "now()", "lease_until": "now() + interval '30 s'"}
	case push.Queued:
		return columns{"attempt": "2", "retries_used": "1"}
	case push.Deferred:
		return columns{"attempt": "0", "next_attempt_at": "now() - interval '1 s'"}
	case push.Failed:
		return with(columns{"retries_used": "1", "next_attempt_at": "now() - interval '1 s'", "outcome": "'not_sent'",
			"error_code": "'isp.SYSTEM_ERROR'", "error_message": "'busy'"})
	case push.Unknown:
		return with(columns{"ambiguous_since": "now() - interval '1 min'", "outcome": "'ambiguous'"})
	case push.Dead:
		return with(columns{"settled_at": "now()", "letter_due": "true", "outcome": "'permanent'",
			"error_code": "'isv.MOBILE_NUMBER_ILLEGAL'", "error_message": "'no such number'"})
	case push.Sent:
		return with(columns{"settled_at": "now()", "sent_at": "now()", "recipient_full": "NULL"})
	case push.Delivered, push.Undelivered, push.Expired, push.Skipped:
	}
	return columns{}
}

// rows puts rows into the push log as other parts of the product would have left them, and reads them back.
type rows struct {
	*store.Store

	db *pgxpool.Pool
}

// put writes one row and returns its id; over replaces single columns of the usual row.
func (r rows) put(t *testing.T, action push.Action, status push.Status, over columns) int64 {
	t.Helper()
	c := columns{
		"biz_type": "'resume_viewed'", "rule_version": "'v1'", "dedup_id": "gen_random_uuid()::text", "biz_id": "'10248'",
		"action": "'" + string(action) + "'", "status": "'" + string(status) + "'", "provider": "'aliyun'",
		"user_id": "'u1'", "recipient_full": "'+8613800138000'", "event": `'{"biz_type":"resume_viewed","biz_id":10248}'`,
		"trace_id": "'4bf92f3577b34da6a3ce929d0e0e4736'",
		"topic":    "'push-events'", "partition": "3", "offset_": "42", "record_time": "'2026-01-02 03:04:05+00'",
	}
	maps.Copy(c, usual(status))
	maps.Copy(c, over)
	names := slices.Sorted(maps.Keys(c))
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = c[name]
	}
	var id int64
	sql := fmt.Sprintf("INSERT INTO push_log (%s) VALUES (%s) RETURNING id", strings.Join(names, ", "), strings.Join(values, ", "))
	if err := r.db.QueryRow(context.Background(), sql).Scan(&id); err != nil {
		t.Fatalf("putting a row: %v", err)
	}
	if action != push.Notify {
		r.do(t, id, "reference = push_reference(biz_type, rule_version, dedup_id, action, round)")
	}
	return id
}

// say returns what the row says to SQL expressions, as text, one after the other.
func (r rows) say(t *testing.T, id int64, expressions ...string) string {
	t.Helper()
	var text string
	sql := "SELECT concat_ws(' ', " + strings.Join(expressions, ", ") + ") FROM push_log WHERE id = $1"
	if err := r.db.QueryRow(context.Background(), sql, id).Scan(&text); err != nil {
		t.Fatalf("reading row %d: %v", id, err)
	}
	return text
}

// flag is an SQL expression for name where the condition holds, and for nothing where it does not.
func flag(name, condition string) string {
	return "CASE WHEN " + condition + " THEN '" + name + "' END"
}

// must fails the test unless the row says want.
func (r rows) must(t *testing.T, id int64, want string, expressions ...string) {
	t.Helper()
	if got := r.say(t, id, expressions...); got != want {
		t.Errorf("row %d says %q of %s, want %q", id, got, strings.Join(expressions, ", "), want)
	}
}

// do changes a row as time or another part of the product would.
func (r rows) do(t *testing.T, id int64, set string) {
	t.Helper()
	if _, err := r.db.Exec(context.Background(), "UPDATE push_log SET "+set+" WHERE id = $1", id); err != nil {
		t.Fatalf("changing row %d: %v", id, err)
	}
}

// ids lists which rows the pokes are about.
func ids(pokes []push.Poke) []int64 {
	list := make([]int64, len(pokes))
	for i, p := range pokes {
		list[i] = p.ID
	}
	slices.Sort(list)
	return list
}

// check ends the test on an error.
func check[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

func TestMigrationsGoUpDownAndUpAgain(t *testing.T) {
	t.Parallel()
	url := testbed.EmptyPostgres(t)
	ctx := t.Context()
	up, err := store.Migrate(ctx, url)
	if err != nil || len(up) == 0 {
		t.Fatalf("up: %v, %v", up, err)
	}
	if again, err := store.Migrate(ctx, url); err != nil || len(again) != 0 {
		t.Errorf("up again: %v, %v, want nothing to do", again, err)
	}
	down, err := store.MigrateDown(ctx, url)
	if err != nil || len(down) != len(up) {
		t.Fatalf("down: %v, %v", down, err)
	}
	status, err := store.MigrationStatus(ctx, url)
	if err != nil || len(status) != len(up) {
		t.Fatalf("status: %v, %v", status, err)
	}
	for _, m := range status {
		if m.Applied {
			t.Errorf("%s is still applied", m.Name)
		}
	}
	r := at(t, url, "")
	left := r.count(t, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname !~ '^goose'")
	if left != 0 {
		t.Errorf("%d relations are left behind", left)
	}
	if _, err := store.Migrate(ctx, url); err != nil {
		t.Fatalf("up after down: %v", err)
	}
	says(t, r.intend(t, "w1"), "sending(w1,1)")
}

func TestMigrationsAtOnceTakeTurns(t *testing.T) {
	t.Parallel()
	url := testbed.EmptyPostgres(t)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { // the test waits for it below
			if _, err := store.Migrate(context.Background(), url); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestSchemaStatesTheLifeCycle(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for constraint, c := range map[string]struct {
		from   push.Status
		change string
	}{
		"push_log_status":              {push.Sending, "status = 'done', lease_until = NULL"},
		"push_log_counts":              {push.Sending, "retries_used = -1"},
		"push_log_attempt_begun":       {push.Deferred, "status = 'failed'"},
		"push_log_sending_is_held":     {push.Sending, "owner = NULL"},
		"push_log_lease_while_sending": {push.Sending, "lease_until = NULL"},
		"push_log_waiting_has_time":    {push.Failed, "next_attempt_at = NULL"},
		"push_log_unknown_since":       {push.Unknown, "intent_at = NULL, ambiguous_since = NULL"},
		"push_log_settled_has_time":    {push.Unknown, "status = 'dead'"},
		"push_log_sent_has_time":       {push.Sending, "sent_at = now()"},
		"push_log_recipient_erased":    {push.Unknown, "status = 'sent', settled_at = now(), sent_at = now()"},
		"push_log_letter_of_dead":      {push.Sending, "letter_due = true"},
		"push_log_skipped_has_reason":  {push.Unknown, "status = 'skipped', settled_at = now(), recipient_full = NULL"},
	} {
		id := r.put(t, push.SMS, c.from, nil)
		_, err := r.db.Exec(t.Context(), "UPDATE push_log SET "+c.change+" WHERE id = $1", id)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.ConstraintName != constraint {
			t.Errorf("%s: %v, want it refused by %s", c.change, err, constraint)
		}
	}
}

func TestSchemaHoldsOneRowADeliveryAndRound(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	_, err := r.db.Exec(t.Context(), `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status,
		attempt, event, topic, partition, offset_, record_time, next_attempt_at)
		SELECT biz_type, rule_version, dedup_id, action, biz_id, 'failed', 1, event, topic, partition, offset_,
		record_time, now() FROM push_log WHERE id = $1`, row.ID)
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.ConstraintName != "push_log_delivery" {
		t.Errorf("a second row for the delivery: %v", err)
	}
}

func TestWaitingWorkIsFoundByPartialIndexes(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	if _, err := r.db.Exec(t.Context(), `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status,
		attempt, event, topic, partition, offset_, record_time, settled_at, sent_at)
		SELECT 'a', 'v1', n::text, 'sms', n::text, 'sent', 1, '{}', 't', 0, n, now(), now(), now()
		FROM generate_series(1, 20000) n`); err != nil {
		t.Fatal(err)
	}
	for _, s := range []push.Status{push.Failed, push.Queued, push.Sending, push.Unknown, push.Dead} {
		r.put(t, push.SMS, s, nil)
	}
	if _, err := r.db.Exec(t.Context(), "ANALYZE push_log"); err != nil {
		t.Fatal(err)
	}
	for index, where := range map[string]string{
		"push_log_due":     "status IN ('failed', 'deferred') AND next_attempt_at <= now() ORDER BY next_attempt_at",
		"push_log_queued":  "status = 'queued' AND updated_at <= now() - interval '1 min' ORDER BY updated_at",
		"push_log_sending": "status = 'sending' AND lease_until < now() ORDER BY intent_at",
		"push_log_unknown": "status = 'unknown' AND coalesce(ambiguous_since, intent_at) < now()",
		"push_log_letter":  "letter_due ORDER BY id",
		"push_log_due_of":  "action = 'sms' AND status IN ('failed', 'deferred') AND next_attempt_at <= now() ORDER BY next_attempt_at",
		"push_log_pkey":    "true ORDER BY id DESC", // newest first
	} {
		plan := r.plan(t, "SELECT id FROM push_log WHERE "+where+" LIMIT 100")
		if !strings.Contains(plan, index) {
			t.Errorf("%s does not use %s:\n%s", where, index, plan)
		}
	}
}

// plan explains a query.
func (r rows) plan(t *testing.T, sql string) string {
	t.Helper()
	found, err := r.db.Query(t.Context(), "EXPLAIN "+sql)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var plan strings.Builder
	for found.Next() {
		var line string
		if err := found.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	return plan.String()
}

func TestSchemaHasTheContractsColumns(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for table, names := range map[string]string{
		"push_log": `id biz_type rule_version dedup_id action round biz_id status attempt retries_used provider
			provider_msg_id error_code error_message user_id recipient recipient_hash recipient_full event event_id trace_id
			owner intent_at lease_until ambiguous_since next_attempt_at published_at possible_duplicate letter_due topic
			partition offset_ record_time created_at updated_at settled_at sent_at`,
		"push_attempt": `delivery_id attempt provider outcome provider_msg_id error_code error_message started_at
			finished_at owner worker`,
		"inbox_message": "delivery_id user_id title body data created_at read_at",
	} {
		for name := range strings.FieldsSeq(names) {
			n := r.count(t, "SELECT count(*) FROM information_schema.columns WHERE table_name = $1 AND column_name = $2", table, name)
			if n != 1 {
				t.Errorf("%s has no column %s", table, name)
			}
		}
	}
	zoneless := r.count(t, `SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public'
		AND table_name !~ '^goose' AND data_type = 'timestamp without time zone'`)
	if zoneless != 0 {
		t.Errorf("%d columns hold times without zone", zoneless)
	}
}

func TestAttemptNeverGoesBack(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1"), push.Throttled)
	r.queue(t, row)
	if _, err := r.db.Exec(t.Context(), "UPDATE push_log SET attempt = 1 WHERE id = $1", row.ID); err == nil {
		t.Error("the schema let an attempt go back")
	}
}

package store

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
	"pusher/internal/testbed"
)

// manySent is a log in which next to nothing is under way, as an analysis of a quiet hour finds it.
const manySent = `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status, attempt, event, topic, partition,
	offset_, record_time, settled_at, sent_at)
SELECT 'viewed', 'v1', n::text, 'notify', n::text, 'sent', 1, '{}', 't', 0, n, now(), now(), now()
FROM generate_series(1, 5000) AS n`

// A batch finds its rows by their keys, whatever the statistics say of how many are under way: by a partial index it
// would read all of those, dead entries included, again for each batch.
func TestBatchesFindTheirRowsByKey(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testbed.Postgres(t)
	if _, err := Migrate(ctx, url); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	for _, sql := range []string{manySent, "ANALYZE push_log"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	result := []push.Result{{ID: 1, Owner: "me", Attempt: 1, Inbox: &push.Inbox{}}}
	held := []push.Held{{ID: 1, Owner: "me", Attempt: 1}}
	intent := []push.Intent{{Owner: "me", Delivery: &push.Delivery{Event: &push.Event{}, Identity: push.Identity{Action: push.SMS}}}}
	for name, of := range map[string]struct {
		sql  string
		args pgx.NamedArgs
	}{
		"accept": {acceptRows, acceptedArgs(result)}, "accept in-app": {acceptInbox, inboxArgs(result)},
		"doubt": {doubtRows, resultArgs(result)}, "refuse": {refuseRows, resultArgs(result)},
		"renew": {renewRows, heldArgs(held)}, "undo": {undoRows, heldArgs(held)}, "repeat": {repeatRows, heldArgs(held)},
		"end": {endRows, switchArgs([]push.Switch{{Result: result[0]}})}, "next": {nextRows, switchArgs([]push.Switch{{Result: result[0]}})},
		"take": {takeRows, askedOf(intent)}, "bury": {buryRows, askedOf(intent)}, "read": {readIntended, askedOf(intent)},
	} {
		rows, err := conn.Query(ctx, "EXPLAIN "+of.sql, of.args)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan := strings.Join(lines, "\n")
		if !strings.Contains(plan, "push_log_pkey") && !strings.Contains(plan, "push_log_delivery") {
			t.Errorf("%s finds its rows otherwise:\n%s", name, plan)
		}
		for _, index := range []string{"push_log_sending", "push_log_queued", "push_log_unknown", "Seq Scan"} {
			if strings.Contains(plan, index) {
				t.Errorf("%s reads %s:\n%s", name, index, plan)
			}
		}
	}
}

// A receipt that comes is found by its key, however many others wait for their deliveries.
func TestReceiptsThatComeAreFoundByKey(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testbed.Postgres(t)
	if _, err := Migrate(ctx, url); err != nil {
		t.Fatal(err)
	}
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	settle(cc, Config{})
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	for _, sql := range []string{`INSERT INTO push_receipt (provider, status, raw, digest, next_match_at)
		SELECT 'aliyun', 'delivered', '{}', int8send(n), now() FROM generate_series(1, 5000) AS n`, "ANALYZE push_receipt"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	sql, _, err := pgx.NamedArgs{"ids": []int64{1}, "limit": 1}.RewriteQuery(ctx, conn, matchTheseReceipts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Prepare(ctx, "match", sql); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(ctx, "EXPLAIN EXECUTE match ('{5000}', 1)")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(lines, "\n"); !strings.Contains(plan, "push_receipt_pkey") || strings.Contains(plan, "push_receipt_parked") {
		t.Errorf("it is found otherwise:\n%s", plan)
	}
}

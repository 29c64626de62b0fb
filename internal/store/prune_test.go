package store_test

import (
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

const kept = 90 * 24 * time.Hour

// aged is a row that was created and, if it is settled, settled so long ago.
func aged(created, settled string) columns {
	c := columns{"created_at": "now() - interval '" + created + "'"}
	if settled != "" {
		c["settled_at"] = "now() - interval '" + settled + "'"
	}
	return c
}

func with(c columns, name, value string) columns {
	c[name] = value
	return c
}

func TestPruningTakesWhatIsFinishedAndOldAndNothingElse(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		what   string
		status push.Status
		over   columns
		gone   bool
	}{
		{"sent", push.Sent, aged("91 d", "91 d"), true},
		{"sent late, inside the time", push.Sent, aged("91 d", "89 d"), false},
		{"unknown, however old", push.Unknown, aged("900 d", ""), false},
		{"failed, however old", push.Failed, aged("900 d", ""), false},
		{"deferred, however old", push.Deferred, aged("900 d", ""), false},
		{"queued, however old", push.Queued, aged("900 d", ""), false},
		{"sending, however old", push.Sending, aged("900 d", ""), false},
		{"dead, its letter due", push.Dead, aged("91 d", "91 d"), false},
		{"dead, its letter written", push.Dead, with(aged("91 d", "91 d"), "letter_due", "false"), true},
		{"sent yesterday", push.Sent, aged("1 d", "1 d"), false},
	} {
		c.over["error_message"] = "'" + c.what + "'"
		id := r.put(t, push.SMS, c.status, c.over)
		t.Cleanup(func() {
			if left := r.count(t, "SELECT count(*) FROM push_log WHERE id = $1", id); (left == 0) != c.gone {
				t.Errorf("%s: %d left, want gone %v", c.what, left, c.gone)
			}
		})
	}
	pruned := 0
	for at, turns := int64(0), 0; turns == 0 || at > 0; turns++ { // two at a time: most batches have nothing to delete
		n, next, err := r.Prune(t.Context(), at, 2, kept)
		if err != nil || turns > 10 {
			t.Fatalf("turn %d: %v", turns, err)
		}
		pruned, at = pruned+n, next
	}
	if pruned != 2 {
		t.Errorf("pruned %d, want 2", pruned)
	}
}

func TestWhatHangsOnARowGoesWithIt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Sent, with(aged("91 d", "91 d"), "attempt", "2"))
	for _, sql := range []string{
		`INSERT INTO push_attempt (delivery_id, attempt, outcome, started_at, finished_at, owner)
			SELECT id, 1, 'not_sent', now(), now(), 'w0' FROM push_log`,
		`INSERT INTO push_receipt (provider, status, raw, digest, matched_at, delivery_id, effect)
			SELECT 'aliyun', 'delivered', '{}', 'x', now(), id, 'late' FROM push_log`,
		`INSERT INTO operator_action (actor, role, verb, reason, filter, counts) VALUES ('li', 'cli', 'requeue', 'x', 'all', '{}')`,
		`INSERT INTO operator_action_delivery SELECT a.id, l.id, 'dead', 1 FROM operator_action a, push_log l`,
	} {
		if _, err := r.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, err := r.Prune(t.Context(), 0, 10, kept); n != 1 || err != nil {
		t.Fatalf("pruned %d of row %d, %v", n, id, err)
	}
	for table, want := range map[string]int{"push_attempt": 0, "push_receipt": 0, "operator_action_delivery": 0, "operator_action": 1} {
		if left := r.count(t, "SELECT count(*) FROM "+table); left != want {
			t.Errorf("%s has %d rows, want %d", table, left, want)
		}
	}
}

func TestPruningIsFoundByTheIndexOfIDs(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	if _, err := r.db.Exec(t.Context(), `INSERT INTO push_log (biz_type, rule_version, dedup_id, action, biz_id, status,
		attempt, event, topic, partition, offset_, record_time, settled_at, sent_at)
		SELECT 'a', 'v1', n::text, 'sms', n::text, 'sent', 1, '{}', 't', 0, n, now(), now(), now()
		FROM generate_series(1, 20000) n`); err != nil {
		t.Fatal(err)
	}
	if _, err := r.db.Exec(t.Context(), "ANALYZE push_log"); err != nil {
		t.Fatal(err)
	}
	plan := r.plan(t, `DELETE FROM push_log l USING (SELECT id FROM push_log WHERE id > 0
		AND id < (SELECT push_log_id_at(now() - interval '90 d')) ORDER BY id LIMIT 100) old
		WHERE l.id = old.id AND l.settled_at < now() - interval '90 d' AND NOT l.letter_due`)
	if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "push_log_pkey") {
		t.Errorf("plan:\n%s", plan)
	}
}

func TestCountsOfPrunedHoursStay(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.put(t, push.SMS, push.Sent, aged("91 d", "91 d"))
	late := r.put(t, push.SMS, push.Unknown, aged("91 d", ""))
	counted := func() int {
		for {
			n, err := r.CountHours(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				return r.count(t, "SELECT coalesce(sum(count), 0) FROM push_hourly")
			}
		}
	}
	if n := counted(); n != 2 {
		t.Fatalf("counted %d, want 2", n)
	}
	if n, _, err := r.Prune(t.Context(), 0, 10, kept); n != 1 || err != nil {
		t.Fatalf("pruned %d, %v", n, err)
	}
	r.do(t, late, "status = 'dead', settled_at = now(), updated_at = now()")
	if _, err := r.db.Exec(t.Context(), "UPDATE push_hourly_state SET counted_to = counted_to - interval '1 h'"); err != nil {
		t.Fatal(err)
	}
	if n := counted(); n != 2 {
		t.Errorf("counted %d after the hour was pruned and changed, want 2 still", n)
	}
}

func TestPruningTheInboxGoesByAge(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	if _, err := r.db.Exec(t.Context(), `INSERT INTO inbox_message (delivery_id, user_id, title, body, created_at)
		SELECT n, 'u1', 't', 'b', now() - n * interval '1 d' FROM generate_series(5, 1, -1) n`); err != nil {
		t.Fatal(err)
	}
	var told []int
	for range 3 {
		n, err := r.PruneInbox(t.Context(), 2, 60*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, n)
	}
	if told[0] != 2 || told[1] != 1 || told[2] != 0 {
		t.Errorf("pruned %v, want the 3 older than 60 hours, two at a time", told)
	}
}

func TestAnEmptyLogHasNoHours(t *testing.T) {
	t.Parallel()
	if n, err := fresh(t).CountHours(t.Context()); n != 0 || err != nil {
		t.Errorf("counted %d hours, %v, want none", n, err)
	}
}

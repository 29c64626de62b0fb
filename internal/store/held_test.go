package store_test

import (
	"testing"
	"time"

	"pusher/internal/push"
)

func TestU1UndoneAttemptUsesNoRetry(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	for range 2 {
		says(t, one(t, r.Undo(t.Context(), []push.Held{heldBy(row)})), "failed(w1,1)")
	}
	r.must(t, row.ID, "0 undone t t", "retries_used, outcome, next_attempt_at <= now(), recipient_full IS NOT NULL")
}

func TestU1WithAnEarlierAttemptInDoubt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1", of(push.WeChat)), push.Ambiguous)
	row = one(t, r.Repeat(t.Context(), []push.Held{heldBy(row)}))
	says(t, one(t, r.Undo(t.Context(), []push.Held{heldBy(row)})), "unknown(w1,2)")
	r.must(t, row.ID, "t t", "ambiguous_since IS NOT NULL, next_attempt_at IS NULL")
}

func TestU2TombstoneOfALostIntent(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		name   string
		before func(c change) // the row, made by about(name)
		ask    change
		want   string
		late   string // what the late intent then finds
	}{
		{"absent", func(change) {}, func(*push.Intent) {}, "failed(,1)", "failed(,1)"},
		{"to be skipped", func(change) {}, func(in *push.Intent) { in.Delivery.Skip = "no_phone" }, "skipped(,0)", "skipped(,0)"},
		{"not yet due", func(change) {}, func(in *push.Intent) { in.Delivery.Event.NotBefore = time.Now().Add(time.Hour) },
			"deferred(,0)", "deferred(,0)"},
		{"the last round is over", func(c change) {
			r.record(t, r.intend(t, "w0", c, recorded(time.Now().Add(-72*time.Hour))), push.Accepted)
		}, recorded(time.Now().Add(25 * time.Hour)), "failed(,1)", "failed(,1)"},
		{"queued", func(c change) { r.queue(t, r.record(t, r.intend(t, "w0", c), push.NotSent)) }, retry(2),
			"failed(,2)", "failed(,2)"},
		{"queued, an attempt in doubt", func(c change) { r.queue(t, r.record(t, r.intend(t, "w0", c), push.Ambiguous)) },
			retry(2), "unknown(,2)", "unknown(,2)"},
		{"the intent landed", func(c change) { r.intend(t, "w1", c) }, func(*push.Intent) {}, "failed(w1,1)", "failed(w1,1)"},
		{"the intent landed and was swept", func(c change) {
			row := r.intend(t, "w1", c)
			if _, err := r.db.Exec(t.Context(), `UPDATE push_log SET status = 'unknown', lease_until = NULL WHERE id = $1`, row.ID); err != nil {
				t.Fatal(err)
			}
		}, func(*push.Intent) {}, "failed(w1,1)", "failed(w1,1)"},
		{"another owner's sending", func(c change) { r.intend(t, "w0", c) }, func(*push.Intent) {}, "sending(w0,1)", "sending(w0,1)"},
		{"a later attempt is queued", func(c change) { r.queue(t, r.record(t, r.intend(t, "w0", c), push.NotSent)) }, retry(1),
			"queued(,2)", "queued(,2)"},
	} {
		c.before(about(c.name))
		lost := []push.Intent{intend("w1", about(c.name), c.ask)}
		got := one(t, r.UndoLost(t.Context(), lost))
		if word(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, word(got), c.want)
		}
		if late := one(t, r.Intend(t.Context(), lost)); word(late) != c.late || late.MayBeSent("w1") {
			t.Errorf("%s: the late intent finds %s, want %s", c.name, word(late), c.late)
		}
		if got.Status == push.Failed {
			r.must(t, got.ID, "t t 0", "next_attempt_at <= now(), recipient_full IS NOT NULL, retries_used - (attempt - 1)")
		}
	}
}

func TestU2TombstoneIsNoAttempt(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := one(t, r.UndoLost(t.Context(), []push.Intent{intend("w1")}))
	n := r.queue(t, row)
	one(t, r.UndoLost(t.Context(), []push.Intent{intend("w1", retry(n))}))
	if told := r.attempts(t, row); told != "2:failed" {
		t.Errorf("timeline %q, want no attempt that never began", told)
	}
}

func TestN1RenewExtendsOnlyWhatIsStillHeld(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	mine, ended := r.intend(t, "w1"), r.record(t, r.intend(t, "w1", of(push.WeChat)), push.NotSent)
	r.do(t, mine.ID, "lease_until = now() + interval '1 s'")
	updated := r.say(t, mine.ID, "updated_at")
	got := r.Renew(t.Context(), []push.Held{heldBy(ended), heldBy(mine), {ID: 1 << 40, Owner: "w1", Attempt: 1}})
	if len(got) != 3 || got[0].Mine || !got[1].Mine || got[2].Mine {
		t.Errorf("renewals: %+v, want only the second mine", got)
	}
	r.must(t, mine.ID, "t "+updated, "lease_until > now() + interval '55 s', updated_at")
	r.must(t, ended.ID, "t", "lease_until IS NULL")
}

func TestN1RenewalIsAHotUpdate(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	for range 5 {
		r.Renew(t.Context(), []push.Held{heldBy(row)})
	}
	if !hotUpdates(t, r, 5) {
		t.Error("renewals wrote index entries")
	}
}

// hotUpdates waits until the server's counters show at least n HOT updates of the push log.
func hotUpdates(t *testing.T, r rows, n int) bool {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if r.count(t, "SELECT pg_stat_get_tuples_hot_updated('push_log'::regclass)") >= n {
			return true
		}
		// Every connection of the store flushes its own counters when it is next idle.
		r.Look(t.Context(), []push.Lookup{{Identity: push.Identity{BizType: "none"}}})
	}
	return false
}

func TestP4RepeatsWeChatInsideTheWindow(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		name   string
		action push.Action
		set    string // what else happened to the row
		want   string
	}{
		{"inside", push.WeChat, "", "sending(w1,2)"},
		{"window over", push.WeChat, "ambiguous_since = now() - interval '9 min'", "unknown(w1,1)"},
		{"retries used up", push.WeChat, "retries_used = 3", "unknown(w1,1)"},
		{"past expires_at", push.WeChat, "expires_at = now()", "unknown(w1,1)"},
		{"another owner's", push.WeChat, "owner = 'w2'", "unknown(w2,1)"},
		{"sms is never simply repeated", push.SMS, "", "unknown(w1,1)"},
	} {
		row := r.record(t, r.intend(t, "w1", of(c.action), about(c.name)), push.Ambiguous)
		if c.set != "" {
			r.do(t, row.ID, c.set)
		}
		since := r.say(t, row.ID, "ambiguous_since")
		held := []push.Held{heldBy(row)}
		says(t, one(t, r.Repeat(t.Context(), held)), c.want)
		says(t, one(t, r.Repeat(t.Context(), held)), c.want) // its answer got lost: asked again
		r.must(t, row.ID, since, "ambiguous_since")
	}
}

func TestLookReadsTheLatestRoundOrTheOneNamed(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	first := r.record(t, r.intend(t, "w1"), push.Accepted)
	second := r.intend(t, "w2", recorded(time.Now().Add(25*time.Hour)))
	id := intend("").Delivery.Identity
	got := r.Look(t.Context(), []push.Lookup{{Identity: id, Round: 1}, {Identity: id}, {Identity: id, Round: 3}, {Identity: id}})
	if len(got) != 4 || got[0].Row.ID != first.ID || got[1].Row.ID != second.ID || got[2].Row.Exists() || got[3].Row.ID != second.ID {
		t.Errorf("looked: %+v", got)
	}
	if s := got[0].Row.Settlement(); s.State != push.KeySuccess || s.At.IsZero() {
		t.Errorf("settlement %+v, want success with its time", s)
	}
}

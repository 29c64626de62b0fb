package store_test

import (
	"testing"
	"time"

	"pusher/internal/push"
)

const theRow = "status,attempt,retries_used,coalesce(owner,'-'),(recipient_full IS NOT NULL)::text"

func TestI1AbsentRowOpens(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		name   string
		change change
		want   string
		code   string
	}{
		{"sending", func(*push.Intent) {}, "sending 1 0 w1 true", ""},
		{"skipped", func(in *push.Intent) { in.Delivery.Skip = "no_phone" }, "skipped 0 0 - false", "no_phone"},
		{"expired", func(in *push.Intent) { in.Delivery.Event.ExpiresAt = time.Now().Add(-time.Second) },
			"expired 0 0 - false", "expired"},
		{"not yet due", func(in *push.Intent) { in.Delivery.Event.NotBefore = time.Now().Add(time.Hour) },
			"deferred 0 0 - true", ""},
		{"not before, long past", func(in *push.Intent) { in.Delivery.Event.NotBefore = time.Now().Add(-time.Hour) },
			"sending 1 0 w1 true", ""},
		{"skipped comes before expired", func(in *push.Intent) {
			in.Delivery.Skip, in.Delivery.Event.ExpiresAt = "unknown_action", time.Now().Add(-time.Hour)
		}, "skipped 0 0 - false", "unknown_action"},
	} {
		row := r.intend(t, "w1", about(c.name), c.change)
		r.must(t, row.ID, c.want, theRow)
		r.must(t, row.ID, c.code, "error_code")
		if row.MayBeSent("w1") != (row.Status == push.Sending) || row.Round != 1 {
			t.Errorf("%s: answer %+v", c.name, row)
		}
	}
}

func TestI1RowRemembersTheEventAsReceived(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1", func(in *push.Intent) { in.Delivery.Event.ExpiresAt = time.Now().Add(time.Hour) })
	r.must(t, row.ID, `{"biz_type":"resume_viewed","biz_id":9007199254740993}`, "event")
	r.must(t, row.ID, "v1 10248 u1 138****8000 e1 4bf92f3577b34da6a3ce929d0e0e4736 push-events 3 42 aliyun host-1",
		"rule_version, biz_id, user_id, recipient, event_id, trace_id, topic, partition, offset_, provider, worker")
	r.must(t, row.ID, "t", "expires_at > now() + interval '59 min'")
	if row.LeaseLeft < 25*time.Second || row.LeaseLeft > 30*time.Second {
		t.Errorf("lease left %v, want just under 30s", row.LeaseLeft)
	}
}

func TestI1NextRound(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		name     string
		settled  bool
		recorded time.Duration // after the settle
		want     string
		round    int
	}{
		{"news after the window", true, 25 * time.Hour, "sending(w2,1)", 2},
		{"a duplicate inside the window", true, 23 * time.Hour, "sent(w1,1)", 1},
		{"an old record, read late", true, -time.Hour, "sent(w1,1)", 1},
		{"news, but the last round is not settled", false, 48 * time.Hour, "sending(w1,1)", 1},
	} {
		row := r.intend(t, "w1", about(c.name))
		if c.settled {
			row = r.record(t, row, push.Accepted)
		}
		again := r.intend(t, "w2", about(c.name), recorded(time.Now().Add(c.recorded)))
		says(t, again, c.want)
		if again.Round != c.round {
			t.Errorf("%s: round %d, want %d", c.name, again.Round, c.round)
		}
		if c.round == 2 && again.ID == row.ID {
			t.Errorf("%s: the next round has no row of its own", c.name)
		}
	}
}

func TestI2QueuedAttemptIsTakenByItsRetryMessage(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.record(t, r.intend(t, "w1"), push.NotSent)
	n := r.queue(t, row)
	for name, c := range map[string]change{"an earlier attempt": retry(n - 1), "a later attempt": retry(n + 1),
		"another round": func(in *push.Intent) { in.Delivery.Retry = &push.Retry{Round: 2, Attempt: n} },
		"round 0":       func(in *push.Intent) { in.Delivery.Retry = &push.Retry{Attempt: n} },
		"a main record": func(*push.Intent) {}} {
		if got := r.intend(t, "w2", c); got.MayBeSent("w2") {
			t.Errorf("%s may be sent: %s", name, word(got))
		}
	}
	got := r.intend(t, "w2", retry(n))
	says(t, got, "sending(w2,2)")
	if string(got.Event) != `{"biz_type":"resume_viewed","biz_id":9007199254740993}` || got.Recipient != "+8613800138000" {
		t.Errorf("content of the retry: %s to %q", got.Event, got.Recipient)
	}
	if told := r.attempts(t, got); told != "1:not_sent 2:sending" {
		t.Errorf("timeline %q", told)
	}
}

func TestI3QueuedRetryAfterTheWindow(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		name    string
		action  push.Action
		age     time.Duration // of the first unresolved attempt; 0: none
		expired bool
		want    push.Status
	}{
		{"wechat inside the window", push.WeChat, 8 * time.Minute, false, push.Sending},
		{"wechat after the window", push.WeChat, 10 * time.Minute, false, push.Unknown},
		{"sms sent again by policy", push.SMS, time.Hour, false, push.Sending},
		{"past expires_at", push.SMS, 0, true, push.Expired},
		{"past expires_at, but an attempt in doubt", push.SMS, time.Minute, true, push.Unknown},
		{"wechat past expires_at inside the window", push.WeChat, time.Minute, true, push.Unknown},
	} {
		row := r.intend(t, "w1", of(c.action), about(c.name))
		if c.age > 0 {
			row = r.record(t, row, push.Ambiguous)
			r.age(t, row, c.age)
		} else {
			row = r.record(t, row, push.NotSent)
		}
		n := r.queue(t, row)
		if c.expired {
			r.do(t, row.ID, "expires_at = now() - interval '1 s'")
		}
		got := r.intend(t, "w2", of(c.action), about(c.name), retry(n))
		if got.Status != c.want || got.Attempt != n || got.Ambiguous != (c.age > 0) {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
		if c.age > 0 && (got.AmbiguousAge < c.age || got.AmbiguousAge > c.age+time.Minute) {
			t.Errorf("%s: ambiguous for %v, want %v: it must not move", c.name, got.AmbiguousAge, c.age)
		}
	}
}

func TestQ6WhatWasResentIsNeverExpired(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	n := r.queue(t, r.record(t, r.intend(t, "w1"), push.Ambiguous))
	r.do(t, 1, "possible_duplicate = true, ambiguous_since = NULL, expires_at = now()") // as when_unknown: resend leaves it
	got := r.intend(t, "w2", retry(n))
	if says(t, got, "unknown(,2)"); !got.Ambiguous {
		t.Errorf("%+v says nothing of since when it is in doubt", got)
	}
}

func TestI4RunningLeaseOfAnotherIsBusy(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, a := range push.Actions() {
		r.intend(t, "w1", of(a))
		got := r.intend(t, "w2", of(a))
		says(t, got, "sending(w1,1)")
		if !got.HeldByOther("w2") || got.LeaseLeft <= 0 {
			t.Errorf("%s: %+v, want held by another", a, got)
		}
	}
}

func TestI5AndI6StaleSendingByCapability(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, c := range []struct {
		name    string
		rule    string
		action  push.Action
		age     time.Duration
		used    bool // all retries
		expired bool
		want    string // status, attempt, retries_used, owner
		amb     bool
	}{
		{"sms", "I5", push.SMS, time.Minute, false, false, "unknown 1 0 w1", false},
		{"wechat, window over", "I5", push.WeChat, 10 * time.Minute, false, false, "unknown 1 0 w1", true},
		{"wechat, retries used up", "I5", push.WeChat, time.Minute, true, false, "unknown 1 3 w1", true},
		{"wechat, past expires_at", "I5", push.WeChat, time.Minute, false, true, "unknown 1 0 w1", true},
		{"wechat inside the window", "I6", push.WeChat, time.Minute, false, false, "sending 2 1 w2", true},
		{"in-app", "I6", push.Notify, time.Hour, false, false, "sending 2 1 w2", false},
		{"in-app, retries used up", "I6", push.Notify, time.Hour, true, false, "dead 1 3 w1", false},
		{"in-app, past expires_at", "I6", push.Notify, time.Hour, false, true, "expired 1 0 w1", false},
	} {
		row := r.intend(t, "w1", of(c.action), about(c.name))
		r.age(t, row, c.age)
		r.lapse(t, row)
		if c.used {
			r.do(t, row.ID, "retries_used = 3")
		}
		if c.expired {
			r.do(t, row.ID, "expires_at = now()")
		}
		got := r.intend(t, "w2", of(c.action), about(c.name))
		r.must(t, row.ID, c.want, "status, attempt, retries_used, owner")
		if got.Ambiguous != c.amb || got.MayBeSent("w2") != (got.Status == push.Sending) {
			t.Errorf("%s %s: %+v", c.rule, c.name, got)
		}
		if c.amb && got.AmbiguousAge < c.age {
			t.Errorf("%s %s: in doubt for %v, want since the first intent", c.rule, c.name, got.AmbiguousAge)
		}
		if got.Status == push.Dead {
			r.must(t, row.ID, "t retries_used_up t", "letter_due, error_code, recipient_full IS NOT NULL")
		}
		if got.Status == push.Sending {
			if told := r.attempts(t, got); told != "1:lost 2:sending" {
				t.Errorf("%s %s: timeline %q", c.rule, c.name, told)
			}
		}
	}
}

func TestI6TakeoverByARetryMessageOfThatRound(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	n := r.queue(t, r.record(t, r.intend(t, "w1", of(push.Notify)), push.NotSent))
	row := r.intend(t, "w2", of(push.Notify), retry(n))
	r.lapse(t, row)
	got := r.intend(t, "w3", of(push.Notify), retry(n))
	says(t, got, "sending(w3,3)")
	if got.Recipient == "" || len(got.Event) == 0 {
		t.Error("the takeover by a retry message got no content to send")
	}
}

func TestI7SameOwnerGoesOn(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	row := r.intend(t, "w1")
	before := r.say(t, row.ID, "xmin, intent_at, lease_until")
	got := r.intend(t, "w1")
	says(t, got, "sending(w1,1)")
	r.must(t, row.ID, before, "xmin, intent_at, lease_until")
}

func TestI8AnythingElseChangesNothing(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for _, status := range push.Statuses() {
		if status == push.Sending {
			continue // I4 to I7
		}
		row := push.Row{ID: r.put(t, push.SMS, status, usualEnd(status, string(status)))}
		before := r.say(t, row.ID, "xmin")
		got := r.intend(t, "w2", about(string(status)), recorded(time.Now().Add(-time.Hour)))
		if got.ID != row.ID || got.Status != status {
			t.Errorf("%s: answer %+v", status, got)
		}
		r.must(t, row.ID, before, "xmin")
	}
}

// usualEnd completes the usual row for the statuses that rows.put leaves to its caller.
func usualEnd(status push.Status, dedupID string) columns {
	c := columns{"dedup_id": "'" + dedupID + "'"}
	switch status {
	case push.Delivered, push.Undelivered:
		c["attempt"], c["settled_at"], c["sent_at"], c["recipient_full"] = "1", "now()", "now()", "NULL"
	case push.Expired, push.Skipped:
		c["attempt"], c["settled_at"], c["error_code"], c["recipient_full"] = "0", "now()", "'no_phone'", "NULL"
	default:
	}
	return c
}

package store_test

import (
	"context"
	"slices"
	"testing"

	"pusher/internal/push"
)

func TestQ6GivesUp(t *testing.T) {
	t.Parallel()
	over := func(c columns) columns {
		c["expires_at"] = "now() - interval '1 s'"
		return c
	}
	for _, c := range []moves{
		{"failed, retries used up", push.SMS, push.Failed, columns{"retries_used": "5"}, "dead(1) isp.SYSTEM_ERROR letter settled phone"},
		{"deferred, retries used up", push.SMS, push.Deferred, columns{"retries_used": "5"}, "dead(0) retries_used_up letter settled phone"},
		{"failed, retries left", push.SMS, push.Failed, columns{"retries_used": "4"}, "failed(1) isp.SYSTEM_ERROR phone"},
		{"failed, expired", push.SMS, push.Failed, over(columns{}), "expired(1) expired settled"},
		{"deferred, expired", push.SMS, push.Deferred, over(columns{}), "expired(0) expired settled"},
		{"queued, expired", push.SMS, push.Queued, over(columns{}), "expired(2) expired settled"},
		{"queued after an ambiguous attempt, expired", push.WeChat, push.Queued,
			over(columns{"ambiguous_since": "now()"}), "unknown(2) phone"},
		{"queued once more by policy, expired", push.SMS, push.Queued,
			over(columns{"possible_duplicate": "true"}), "unknown(2) phone"},
		{"unknown, expired: may have been sent", push.SMS, push.Unknown, over(columns{}), "unknown(1) phone"},
		{"sending, expired: never touched", push.SMS, push.Sending, over(stale("5 min", nil)), "sending(1) phone"},
		{"unknown for too long", push.SMS, push.Unknown, ago("73 h", nil), "dead(1) unknown_expired letter settled phone"},
		{"unknown, held", push.SMS, push.Unknown, ago("71 h", nil), "unknown(1) phone"},
		{"swept, unknown for too long", push.SMS, push.Unknown, ago("73 h", columns{"ambiguous_since": "NULL"}), "dead(1) unknown_expired letter settled phone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			id := r.put(t, c.action, c.status, c.over)
			check[[]push.Decided](t)(r.GiveUp(context.Background(), 10, policy()))
			r.must(t, id, c.want, stands, "error_code", flag("letter", "letter_due"), flag("settled", "settled_at IS NOT NULL"),
				flag("phone", "recipient_full IS NOT NULL"))
		})
	}
}

func TestQ6KeepsTheLastErrorBesideTheReason(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Failed, columns{"expires_at": "now()"})
	check[[]push.Decided](t)(r.GiveUp(context.Background(), 10, policy()))
	r.must(t, id, "expired | isp.SYSTEM_ERROR: busy", "error_code || ' | ' || error_message")
}

func TestQ6CountsByEnd(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.put(t, push.SMS, push.Failed, columns{"retries_used": "5", "expires_at": "now()"}) // used up comes first
	r.put(t, push.SMS, push.Failed, columns{"expires_at": "now()"})
	r.put(t, push.WeChat, push.Queued, columns{"expires_at": "now()", "ambiguous_since": "now()"})
	r.put(t, push.WeChat, push.Unknown, ago("73 h", nil))
	got := check[[]push.Decided](t)(r.GiveUp(context.Background(), 10, policy()))
	ends := make([]string, len(got))
	for i, d := range got {
		ends[i] = string(d.Action) + " " + string(d.Status) + " " + d.Code
		if d.ID == 0 || d.BizType == "" || d.DedupID == "" || d.BizID == "" || d.Round != 1 || d.Attempt == 0 {
			t.Errorf("what ended is not named: %+v", d)
		}
	}
	slices.Sort(ends)
	want := []string{"sms dead isp.SYSTEM_ERROR", "sms expired expired", "wechat dead unknown_expired", "wechat unknown "}
	if !slices.Equal(ends, want) {
		t.Errorf("gave up %q, want %q", ends, want)
	}
}

// A hold_max of its own for each channel.
func TestQ6HoldsEachChannelByItsOwnPolicy(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	p := policy()
	p.WeChat.HoldMax /= 72
	sms, wechat := r.put(t, push.SMS, push.Unknown, ago("2 h", nil)), r.put(t, push.WeChat, push.Unknown, ago("2 h", nil))
	check[[]push.Decided](t)(r.GiveUp(context.Background(), 10, p))
	r.must(t, sms, "unknown", "status")
	r.must(t, wechat, "dead", "status")
}

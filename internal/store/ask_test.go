package store_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"pusher/internal/push"
)

// aliyun is the one provider that can be asked.
func aliyun() []string { return []string{"aliyun"} }

// ago is how long a send has been unknown.
func ago(age string, over columns) columns {
	c := columns{"ambiguous_since": "now() - interval '" + age + "'", "intent_at": "now() - interval '" + age + "'"}
	maps.Copy(c, over)
	return c
}

func TestQ5AsksWhenItsTurnHasCome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		action push.Action
		over   columns
		want   bool
	}{
		{"too soon", push.SMS, ago("9 s", nil), false},
		{"first turn", push.SMS, ago("11 s", nil), true},
		{"swept, so without ambiguous_since", push.SMS, ago("1 min", columns{"ambiguous_since": "NULL"}), true},
		{"next turn to come", push.SMS, ago("1 min", columns{"next_ask_at": "now() + interval '5 s'"}), false},
		{"a turn inside ask_for, the pass is late", push.SMS, ago("2 h", nil), true},
		{"asked out", push.SMS, ago("16 min", columns{"next_ask_at": "now() - interval '30 s'", "ask_count": "3"}), false},
		{"late, and the only question may have got lost", push.SMS, ago("16 min", columns{"next_ask_at": "now() - interval '1 s'", "ask_count": "1"}), true},
		{"nobody to ask at this provider", push.SMS, ago("1 min", columns{"provider": "'tencent'"}), false},
		{"no provider named", push.SMS, ago("1 min", columns{"provider": "NULL"}), false},
		{"wechat cannot be asked", push.WeChat, ago("1 min", nil), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			r.put(t, c.action, push.Unknown, c.over)
			got := check[[]push.Question](t)(r.Questions(context.Background(), 10, policy(), aliyun()))
			if (len(got) == 1) != c.want {
				t.Errorf("%d questions, want %v", len(got), c.want)
			}
			if again := check[[]push.Question](t)(r.Questions(context.Background(), 10, policy(), aliyun())); len(again) != 0 {
				t.Errorf("asked again at once")
			}
		})
	}
}

func TestQ5SaysWhatToAskAbout(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	id := r.put(t, push.SMS, push.Unknown, columns{"dedup_id": "'d1'", "round": "2", "attempt": "3",
		"ambiguous_since": "'2026-01-01 00:00:00+08'", "intent_at": "'2026-01-01 00:01:00+08'"})
	got := check[[]push.Question](t)(r.Questions(context.Background(), 10, policy(), aliyun()))
	if len(got) != 1 {
		t.Fatalf("%d questions, want 1", len(got))
	}
	got[0].IntentAt = got[0].IntentAt.UTC()
	want := push.Question{
		Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "d1", Action: push.SMS},
		ID:       id, Round: 2, Attempt: 3, Provider: "aliyun", Phone: "+8613800138000",
		IntentAt: time.Date(2025, 12, 31, 16, 0, 0, 0, time.UTC),
	}
	if got[0] != want {
		t.Errorf("question %+v, want %+v", got[0], want)
	}
}

// The waits between questions double, stay under five minutes, and the last question falls on the end of ask_for.
func TestQ5BacksOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, age, count, wait string }{
		{"first", "11 s", "0", "00:00:10"},
		{"third", "1 min", "2", "00:00:40"},
		{"capped", "9 min", "9", "00:05:00"},
		{"last", "14 min", "9", "00:01:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			id := r.put(t, push.SMS, push.Unknown, ago(c.age, columns{"ask_count": c.count, "next_ask_at": "now()"}))
			start := r.say(t, id, "now()")
			check[[]push.Question](t)(r.Questions(context.Background(), 10, policy(), aliyun()))
			r.must(t, id, "t", "abs(extract(epoch FROM next_ask_at - '"+start+"'::timestamptz - '"+c.wait+"'::interval)) < 2")
		})
	}
}

func TestQ5ResendsOnlyByPolicyAndAfterTheAsking(t *testing.T) {
	t.Parallel()
	resend := policy()
	resend.SMS.Resend, resend.WeChat.Resend = true, true
	asked := columns{"next_ask_at": "now() - interval '1 s'", "ask_count": "3"}
	for _, c := range []struct {
		name   string
		policy push.Policy
		action push.Action
		over   columns
		want   string
	}{
		{"hold", policy(), push.SMS, ago("1 h", asked), "unknown(1) 0"},
		{"resend", resend, push.SMS, ago("1 h", asked), "queued(2) 1 duplicate anew"},
		{"resend, swept", resend, push.SMS, ago("1 h", columns{"ambiguous_since": "NULL", "next_ask_at": "now()", "ask_count": "3"}), "queued(2) 1 duplicate anew"},
		{"not before lease and timeout, too", resend, push.SMS, ago("930 s", columns{"next_ask_at": "now() - interval '10 s'", "ask_count": "9"}), "unknown(1) 0"},
		{"the last answer may be on its way", resend, push.SMS, ago("1 h", columns{"next_ask_at": "now() + interval '5 s'", "ask_count": "9"}), "unknown(1) 0"},
		{"not asked often enough", resend, push.SMS, ago("1 h", columns{"next_ask_at": "now() - interval '1 s'", "ask_count": "2"}), "unknown(1) 0"},
		{"never asked", resend, push.SMS, ago("1 h", nil), "unknown(1) 0"},
		{"nobody to ask", resend, push.SMS, ago("1 h", columns{"provider": "'tencent'"}), "queued(2) 1 duplicate anew"},
		{"retries used up", resend, push.SMS, ago("1 h", columns{"provider": "'tencent'", "retries_used": "5"}), "unknown(1) 5"},
		{"past expires_at", resend, push.SMS, ago("1 h", columns{"provider": "'tencent'", "expires_at": "now()"}), "unknown(1) 0"},
		{"wechat, hold", policy(), push.WeChat, ago("10 min", nil), "unknown(1) 0"},
		{"wechat, window just over", resend, push.WeChat, ago("9 min", nil), "unknown(1) 0"},
		{"wechat, window, lease and timeout over", resend, push.WeChat, ago("10 min", nil), "queued(2) 1 duplicate anew"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fresh(t)
			id := r.put(t, c.action, push.Unknown, c.over)
			check[[]push.Poke](t)(r.Resend(context.Background(), 10, c.policy, aliyun()))
			r.must(t, id, c.want, stands, "retries_used", flag("duplicate", "possible_duplicate"),
				flag("anew", "ambiguous_since IS NULL AND intent_at IS NULL"))
		})
	}
}

func TestQ5CountsWhatIsHeld(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.put(t, push.SMS, push.Unknown, ago("16 min", nil))
	r.put(t, push.SMS, push.Unknown, ago("14 min", nil)) // being asked about
	r.put(t, push.WeChat, push.Unknown, ago("10 min", nil))
	r.put(t, push.WeChat, push.Unknown, ago("8 min", nil)) // inside the window
	resend := policy()
	resend.SMS.Resend = true
	for _, c := range []struct {
		policy push.Policy
		want   int
	}{{policy(), 2}, {resend, 1}} {
		if got := check[int](t)(r.Held(context.Background(), c.policy)); got != c.want {
			t.Errorf("held %d, want %d", got, c.want)
		}
	}
}

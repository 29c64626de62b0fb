package operate

import (
	"testing"
	"time"

	"pusher/internal/push"
)

func TestTheRouteSaysWhoSentItAndWhyNotTheFirst(t *testing.T) {
	t.Parallel()
	by := func(provider, outcome, code string) push.Attempt {
		return push.Attempt{Provider: provider, Outcome: outcome, ErrorCode: code}
	}
	for name, c := range map[string]struct {
		status   push.Status
		attempts []push.Attempt
		want     string
	}{
		"one provider": {push.Sent, []push.Attempt{by("tencent", "not_sent", "dial"), by("tencent", "accepted", "")}, ""},
		"no attempt":   {push.Skipped, []push.Attempt{{}}, ""},
		"switched": {
			push.Sent, []push.Attempt{by("aliyun", "account", "isv.AMOUNT_NOT_ENOUGH"), by("tencent", "accepted", "")},
			"sent by tencent; aliyun refused: isv.AMOUNT_NOT_ENOUGH",
		},
		"the last word of each": {
			push.Delivered, []push.Attempt{by("aliyun", "not_sent", "dial"), by("tencent", "throttled", "qps"), by("aliyun", "not_sent", "tls"), by("tencent", "accepted", "")},
			"sent by tencent; aliyun refused: tls",
		},
		"in doubt":   {push.Unknown, []push.Attempt{by("aliyun", "not_sent", "dial"), by("tencent", "ambiguous", "timeout")}, "perhaps sent by tencent; aliyun refused: dial"},
		"on its way": {push.Sending, []push.Attempt{by("aliyun", "not_sent", ""), by("tencent", "sending", "")}, "now with tencent; aliyun refused: not_sent"},
		"both":       {push.Failed, []push.Attempt{by("aliyun", "undone", ""), by("tencent", "not_sent", "dial")}, "tried last by tencent; aliyun was not called"},
		"by policy":  {push.Sent, []push.Attempt{by("aliyun", "ambiguous", "timeout"), by("tencent", "accepted", "")}, "sent by tencent; aliyun may have sent it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := push.Entry{Status: c.status, Provider: "tencent"}
			if got := Route(e, c.attempts).English(time.Now()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

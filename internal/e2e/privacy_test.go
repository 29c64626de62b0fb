package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pusher/internal/sandbox/local"
	"pusher/internal/sandbox/provider"
)

// Whom the events of the privacy test are for, and the code that they carry.
const (
	privateUser   = "user-of-the-privacy-test-%d"
	privatePhone  = "1391234%04d"
	privateOpenID = "oPRIVATEopenid%014d"
	privateCode   = "73915846"
)

// privateEvent is an event whose every personal value can be told in a text.
func privateEvent(id int, bizType string) string {
	return fmt.Sprintf(`{"biz_type":%q,"biz_id":"private-%d","params":{"company":"ACME","code":"%s"},"recipient":{"user_id":"%s","phone":"%s","openid":"%s"}}`,
		bizType, id, privateCode, fmt.Sprintf(privateUser, id), fmt.Sprintf(privatePhone, id), fmt.Sprintf(privateOpenID, id))
}

// private lists what nothing may show of n events.
func (in *installation) private(n int) []string {
	list := []string{privateCode, provider.DefaultSecret, in.env["PUSHER_PRIVACY_HASH_KEY"], "sandbox-access-token-"}
	for id := range n {
		list = append(list, fmt.Sprintf(privateUser, id), fmt.Sprintf(privatePhone, id), fmt.Sprintf(privateOpenID, id))
	}
	return list
}

// TestFieldReport36_NothingPersonalIsShown: every kind of failure at debug level; then logs, metrics, readiness, dead
// letters' headers, the texts in the push log, the compensator's and the operators' outputs are searched.
func TestFieldReport36_NothingPersonalIsShown(t *testing.T) {
	t.Parallel()
	in := install(t, map[string]string{
		"PUSHER_LOG_LEVEL": "debug", "PUSHER_RETRY_MAX_ATTEMPTS": "2", "PUSHER_CHANNELS_SMS_HOLD_MAX": "5s",
		"PUSHER_CHANNELS_SMS_ASK_FOR": "2s", "PUSHER_PRIVACY_HASH_KEY": "a key for the privacy test",
	})
	port, err := local.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	in.env["PUSHER_HTTP_ADDR"] = fmt.Sprintf("127.0.0.1:%d", port)
	quoting := "refused for " + fmt.Sprintf(privatePhone, 0) + " " + fmt.Sprintf(privateOpenID, 0) + " " + privateCode
	in.faults(
		provider.Fault{Provider: provider.WeChat, Count: 1, Kind: provider.Refuse, Code: "40001", Message: quoting},
		provider.Fault{Provider: provider.WeChat, Count: 1, Kind: provider.Refuse, Code: "43004", Message: quoting},
		provider.Fault{Provider: provider.WeChat, Count: 1, Kind: provider.AcceptThenCut},
		provider.Fault{Provider: provider.WeChat, Count: 1, Kind: provider.Answer, Status: 500, Body: quoting},
		provider.Fault{Provider: provider.Aliyun, Count: 1, Kind: provider.Refuse, Code: "isv.MOBILE_NUMBER_ILLEGAL", Message: quoting},
		provider.Fault{Provider: provider.Aliyun, Count: 2, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR", Message: quoting},
		provider.Fault{Provider: provider.Aliyun, Count: 1, Kind: provider.Refuse, Code: "isv.BUSINESS_LIMIT_CONTROL", Message: quoting},
		provider.Fault{Provider: provider.Aliyun, Count: 1, Kind: provider.AcceptThenStall},
		provider.Fault{Provider: provider.Aliyun, Count: 1, Kind: provider.Reset},
		provider.Fault{Provider: provider.Aliyun, Count: 1, Kind: provider.Answer, Status: 502, Body: quoting},
		provider.Fault{Provider: provider.Aliyun, Call: provider.CallQuery, Count: 1, Kind: provider.Refuse, Code: "isv.MOBILE_NUMBER_ILLEGAL",
			Message: "unknown number " + fmt.Sprintf(privatePhone, 0)}, // all that a question carries
	)
	p := in.pusher("")
	const n = 12
	for id := range n {
		in.write(privateEvent(id, "resume_viewed"))
	}
	in.write(privateEvent(0, "never_configured"), strings.TrimSuffix(privateEvent(1, "resume_viewed"), "}"), privateEvent(0, "resume_viewed"))
	in.eventually("all rows written", func() bool { return in.number(`SELECT count(*) FROM push_log`) == 3*n })
	shown := map[string]string{}
	deadline := time.Now().Add(15 * time.Second)
	for i := 0; in.number(`SELECT count(*) FROM push_log WHERE status NOT IN ('sent', 'dead')`) > 0 && time.Now().Before(deadline); i++ {
		c := in.start("compensator", "")
		c.gone()
		shown[fmt.Sprintf("compensator %d", i)] = c.output()
	}
	_, shown["/metrics"] = get(t, "http://"+in.env["PUSHER_HTTP_ADDR"]+"/metrics")
	_, shown["/readyz"] = get(t, "http://"+in.env["PUSHER_HTTP_ADDR"]+"/readyz")
	for _, args := range [][]string{
		{"log", "list"}, {"log", "list", "--json"}, {"log", "stats"}, {"log", "stats", "--json"}, {"check"},
		{"log", "show", "resume_viewed", "private-0", "sms"}, {"log", "show", "resume_viewed", "private-0", "wechat", "--json"},
	} {
		c := in.start("pusher", "", args...)
		c.gone()
		shown["pusher "+strings.Join(args, " ")] = c.output()
	}
	for i, letter := range in.deadLetters(int(in.ends(in.cfg.Kafka.DeadLetterTopic)[0])) {
		shown[fmt.Sprintf("headers of letter %d", i)] = fmt.Sprintf("%q", letter.Headers)
	}
	shown["texts in the push log"] = in.texts()
	p.retire()
	shown["the pusher's log"] = p.output()
	for what, text := range shown {
		if text == "" {
			t.Errorf("%s is empty", what)
		}
		for _, secret := range in.private(n) {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s shows %q: …%s…", what, secret, text[max(0, at-120):min(len(text), at+120)])
			}
		}
	}
	if got := in.statuses(); got["sms dead"] == 0 || got["wechat dead"] == 0 {
		t.Errorf("the failures did not happen: %v", got)
	}
}

// texts are all words of errors, and the masked recipients, in the push log.
func (s *system) texts() string {
	s.t.Helper()
	var list []string
	rows, err := s.db.Query(s.t.Context(), `SELECT concat_ws(' ', recipient, recipient_hash, error_code, error_message) FROM push_log
		UNION ALL SELECT concat_ws(' ', error_code, error_message) FROM push_attempt`)
	if err != nil {
		s.t.Fatal(err)
	}
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, text)
	}
	return strings.Join(slices.Compact(list), "\n")
}

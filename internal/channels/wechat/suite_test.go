package wechat_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/wechat"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is what the tests send.
func message() push.Message {
	return push.Message{
		BizType: "resume_viewed", Reference: "0123456789abcdef0123456789abcdef", Recipient: "oABCD1234efgh5678ijkl9012mno",
		Vars: map[string]string{"company": "Acme & <Söhne>", "code": "493817", "biz_id": "10248"},
	}
}

func config(endpoint string) wechat.Config {
	return wechat.Config{
		Endpoint: endpoint, AppID: provider.DefaultKeyID, AppSecret: provider.DefaultSecret,
		Templates: map[string]wechat.Template{
			"resume_viewed": {
				ID: "TPL1", URL: "https://example.com/r/{{.biz_id}}?a=1&b=2",
				Data: map[string]string{"thing1": "{{.company}}", "character_string2": "{{.code}}"},
			},
		},
	}
}

func newSender(t *testing.T, cfg wechat.Config) *wechat.Sender {
	t.Helper()
	s, err := wechat.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Provider: wechat.Provider,
		New: func(t *testing.T, endpoint string, timeout time.Duration) channeltest.Sender {
			t.Helper()
			cfg := config(endpoint)
			cfg.Timeout = timeout
			return newSender(t, cfg)
		},
		Message: message(),
		Secrets: []string{"493817"},
		NoCode:  `{"errmsg":"ok"}`,
		Refusals: []channeltest.Refusal{
			{Code: "-1", Message: "system busy", Class: push.Ambiguous},
			{Code: "45011", Class: push.Throttled, Scope: push.ScopeChannel, Wait: time.Minute},
			{Code: "45009", Class: push.Throttled, Scope: push.ScopeChannel},
			{Code: "43117", Class: push.Throttled, Scope: push.ScopeRecipient, Wait: 10 * time.Minute},
			{Code: "43004", Message: "require subscribe", Class: push.Permanent, Scope: push.ScopeRecipient},
			{Code: "40037", Class: push.Account, Scope: push.ScopeTemplate},
			{Code: "48001", Class: push.Account, Scope: push.ScopeAccount},
			{Code: "99999", Message: "new", Class: push.NotSent},
		},
	})
}

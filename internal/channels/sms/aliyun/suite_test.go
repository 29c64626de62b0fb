package aliyun_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/sms/aliyun"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is what the tests send.
func message() push.Message {
	return push.Message{
		BizType: "resume_viewed", Reference: "0123456789abcdef0123456789abcdef", Recipient: "+8613800138000",
		Vars: map[string]string{"company": "Acme & <Söhne>", "code": "493817", "biz_id": "10248"},
	}
}

func config(endpoint string) aliyun.Config {
	return aliyun.Config{
		Endpoint: endpoint, AccessKeyID: provider.DefaultKeyID, AccessKeySecret: provider.DefaultSecret, SignName: "某公司",
		Templates: map[string]aliyun.Template{
			"resume_viewed": {Code: "SMS_10001", Params: map[string]string{"company": "{{.company}}", "code": "{{.code}}"}},
		},
	}
}

func newSender(t *testing.T, cfg aliyun.Config) *aliyun.Sender {
	t.Helper()
	s, err := aliyun.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Provider: aliyun.Provider,
		New: func(t *testing.T, endpoint string, timeout time.Duration) channeltest.Sender {
			t.Helper()
			cfg := config(endpoint)
			cfg.Timeout = timeout
			return newSender(t, cfg)
		},
		Message: message(),
		Secrets: []string{"493817"},
		NoCode:  `{"RequestId":"1"}`,
		Refusals: []channeltest.Refusal{
			{Code: "isp.SYSTEM_ERROR", Message: "系统错误", Class: push.NotSent},
			{Code: "Throttling.User", Class: push.Throttled, Scope: push.ScopeChannel, Wait: 5 * time.Second},
			{Code: "isv.NOBODY_KNOWS_THIS", Message: "new", Class: push.NotSent},
			{Code: "InvalidAccessKeyId.Inactive", Class: push.Account, Scope: push.ScopeAccount},
			{Code: "ServiceUnavailable", Class: push.Ambiguous},
			{Code: "isv.SMS_TEMPLATE_ILLEGAL", Class: push.Account, Scope: push.ScopeTemplate},
		},
	})
}

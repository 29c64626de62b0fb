package tencent_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/sms/tencent"
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

func config(endpoint string) tencent.Config {
	return tencent.Config{
		Endpoint: endpoint, SecretID: provider.DefaultKeyID, SecretKey: provider.DefaultSecret,
		SDKAppID: "1400000000", SignName: "某公司",
		Templates: map[string]tencent.Template{
			"resume_viewed": {ID: "20001", Params: []string{"{{.company}}", "{{.code}}"}},
		},
	}
}

func newSender(t *testing.T, cfg tencent.Config) *tencent.Sender {
	t.Helper()
	s, err := tencent.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Provider: tencent.Provider,
		New: func(t *testing.T, endpoint string, timeout time.Duration) channeltest.Sender {
			t.Helper()
			cfg := config(endpoint)
			cfg.Timeout = timeout
			return newSender(t, cfg)
		},
		Message: message(),
		Secrets: []string{"493817"},
		NoCode:  `{"Response":{"RequestId":"1"}}`,
		Refusals: []channeltest.Refusal{
			{Code: "InternalError.OtherError", Message: "other", Class: push.NotSent},
			{Code: "InternalError.Timeout", Class: push.Ambiguous},
			{Code: "RequestLimitExceeded", Message: "too fast", Class: push.Throttled, Scope: push.ScopeChannel, Wait: 5 * time.Second},
			{Code: "RequestLimitExceeded.UinLimitExceeded", Class: push.Throttled, Scope: push.ScopeChannel},
			{Code: "LimitExceeded.PhoneNumberThirtySecondLimit", Class: push.Throttled, Scope: push.ScopeRecipient, Wait: 30 * time.Second},
			{Code: "FailedOperation.NobodyKnowsThis", Class: push.NotSent},
			{Code: "AuthFailure.SignatureExpire", Class: push.Account, Scope: push.ScopeAccount},
			{Code: "InvalidParameterValue.SdkAppIdNotExist", Class: push.Account, Scope: push.ScopeAccount},
			{Code: "FailedOperation.TemplateIncorrectOrUnapproved", Class: push.Account, Scope: push.ScopeTemplate},
		},
	})
}

package telemetry

import (
	"strings"
	"testing"
	"time"

	"pusher/internal/channels"
	"pusher/internal/push"
)

func TestFailuresAreCountedByKnownCodes(t *testing.T) {
	t.Parallel()
	m := New("")
	m.KnowCodes("aliyun", []string{"isv.BUSINESS_LIMIT_CONTROL"})
	m.KnowCodes("wechat", []string{"45009"})
	for _, c := range []struct{ provider, code, label string }{
		{"aliyun", "isv.BUSINESS_LIMIT_CONTROL", "isv.BUSINESS_LIMIT_CONTROL"},
		{"aliyun", "45009", "other"}, // of another provider
		{"aliyun", "isv.NEW_ONE", "other"},
		{"wechat", "45009", "45009"},
		{"wechat", "token_timeout", "token_timeout"},
		{"wechat", "token_http_503", "token_http_5xx"},
		{"wechat", "token_wait", "token_wait"},
		{"wechat", "token_13800138000", "other"},
		{"tencent", "http_404", "http_4xx"},
		{"tencent", "http_13800138000", "other"},
		{"tencent", "", "none"},
		{"tencent", channels.CodeDial, "dial"},
		{"tencent", channels.CodeValueURL, "template_value_url"},
	} {
		if got := m.failures.code(c.provider, c.code); got != c.label {
			t.Errorf("%s %q is the label %q, want %q", c.provider, c.code, got, c.label)
		}
	}
}

func TestBackoffIsOfWhatMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	m := New("")
	for _, class := range []push.Class{push.Accepted, push.NotSent, push.Throttled, push.Account, push.Permanent, push.Ambiguous} {
		m.Ended(push.SMS, push.Result{Class: class, Provider: "aliyun", Code: "timeout", Wait: 10 * time.Second})
	}
	got := scrape(t, m)
	for _, class := range []string{"not_sent", "throttled", "account"} {
		if !strings.Contains(got, `pusher_backoff_seconds_count{action="sms",class="`+class+`"} 1`) {
			t.Errorf("no wait of %s in\n%s", class, got)
		}
	}
	for _, class := range []string{"accepted", "permanent", "ambiguous"} {
		if strings.Contains(got, `pusher_backoff_seconds_count{action="sms",class="`+class+`"}`) {
			t.Errorf("a wait of %s is shown", class)
		}
	}
	if !strings.Contains(got, `pusher_attempt_failures_total{code="timeout",provider="aliyun"} 5`) {
		t.Error(got)
	}
}

package tencent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pusher/internal/channels"
	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/sms/tencent"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// answer sends to a sandbox that answers with this body.
func answer(t *testing.T, body string) (push.Acceptance, error) {
	t.Helper()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Answer, Body: body}}})
	return newSender(t, config(box.URL())).Send(context.Background(), message())
}

// An HTTP 200 alone says nothing: only the number's own "Ok" is a yes.
func TestOnlyTheNumbersOkIsAYes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body  string
		class push.Class
		id    string
	}{
		"ok": {`{"Response":{"SendStatusSet":[{"SerialNo":"s1","PhoneNumber":"+8613800138000","Code":"Ok"}]}}`, push.Accepted, "s1"},
		"ok among others": {`{"Response":{"SendStatusSet":[{"PhoneNumber":"+8613900000000","Code":"FailedOperation.ContainSensitiveWord"},` +
			`{"SerialNo":"s2","PhoneNumber":"+8613800138000","Code":"Ok"}]}}`, push.Accepted, "s2"},
		"ok without number":       {`{"Response":{"SendStatusSet":[{"SerialNo":"s3","Code":"Ok"}]}}`, push.Accepted, "s3"},
		"ok without serial":       {`{"Response":{"SendStatusSet":[{"PhoneNumber":"+8613800138000","Code":"Ok"}]}}`, push.Accepted, ""},
		"another number's ok":     {`{"Response":{"SendStatusSet":[{"PhoneNumber":"+8613900000000","Code":"Ok"}]}}`, push.Ambiguous, ""},
		"empty set":               {`{"Response":{"SendStatusSet":[],"RequestId":"r"}}`, push.Ambiguous, ""},
		"null status":             {`{"Response":{"SendStatusSet":[null]}}`, push.Ambiguous, ""},
		"status without code":     {`{"Response":{"SendStatusSet":[{"PhoneNumber":"+8613800138000"}]}}`, push.Ambiguous, ""},
		"error of the request":    {`{"Response":{"Error":{"Code":"AuthFailure.SecretIdNotFound","Message":"no"}}}`, push.Account, ""},
		"error beside a status":   {`{"Response":{"Error":{"Code":"InternalError","Message":"no"},"SendStatusSet":[]}}`, push.NotSent, ""},
		"error of the old format": {`{"code":4000,"codeDesc":"InvalidParameterValue.Old","message":"no"}`, push.Permanent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted, err := answer(t, c.body)
			class := push.Accepted
			if err != nil {
				class = push.FailureOf(err).Class
			}
			if class != c.class || accepted.MessageID != c.id {
				t.Errorf("%s with id %q, want %s with %q: %v", class, accepted.MessageID, c.class, c.id, err)
			}
		})
	}
}

func TestParamsGoByPosition(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	if _, err := newSender(t, config(box.URL())).Send(context.Background(), message()); err != nil {
		t.Fatal(err)
	}
	entry := box.Journal().Entries()[0]
	var params []string
	if err := json.Unmarshal(entry.Params, &params); err != nil || len(params) != 2 || params[0] != "Acme & <Söhne>" || params[1] != "493817" {
		t.Errorf("params %s", entry.Params)
	}
	if entry.Recipient != "+8613800138000" || entry.Template != "20001" {
		t.Errorf("entry %+v", entry)
	}
}

// The official client goes on to another domain, retries and follows redirects where it is left to itself.
func TestOfficialClientAsksOnce(t *testing.T) {
	t.Parallel()
	other := channeltest.NewSandbox(t, provider.Config{})
	for _, f := range []provider.Fault{
		{Kind: provider.Refuse, Code: "RequestLimitExceeded"},
		{Kind: provider.Answer, Status: 307, Body: `{}`},
		{Kind: provider.Reset},
	} {
		box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{f}})
		sender := newSender(t, config(box.URL()))
		for range 12 { // its breaker opens after ten
			_, _ = sender.Send(context.Background(), message())
		}
		if n := box.Requests(provider.Tencent, provider.CallSend); n != 12 || other.Requests(provider.Tencent, provider.CallSend) != 0 {
			t.Errorf("%s: %d requests for 12 sends", f.Kind, n)
		}
	}
}

func TestEndpointWithAPath(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	if _, err := newSender(t, config(box.URL()+"/")).Send(context.Background(), message()); err != nil {
		t.Error(err)
	}
	if _, err := tencent.New(config("localhost:9000")); err == nil || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("error %v does not name the endpoint", err)
	}
}

func TestSendRefusesForGoodWithoutACall(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	other, missing := message(), message()
	other.BizType = "other"
	delete(missing.Vars, "code")
	for code, m := range map[string]push.Message{"template_not_configured": other, "template_variable_missing": missing} {
		_, err := sender.Send(context.Background(), m)
		if f := channeltest.Failure(t, err); f.Class != push.Permanent || f.Code != code {
			t.Errorf("%v, want permanent %s", err, code)
		}
	}
	if n := box.Requests(provider.Tencent, provider.CallSend); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestNewNamesTheBadTemplate(t *testing.T) {
	t.Parallel()
	bad := config("")
	bad.Templates = map[string]tencent.Template{"p": {Params: []string{"ok", "{{"}}}
	if _, err := tencent.New(bad); err == nil || !strings.Contains(err.Error(), "p.sms.tencent.params.1") {
		t.Errorf("error %v does not name the template", err)
	}
}

// refuse sends at a time of day to a sandbox that refuses with this code.
func refuse(t *testing.T, code string, now time.Time) *push.Failure {
	t.Helper()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Refuse, Code: code}}})
	cfg := config(box.URL())
	cfg.Now = func() time.Time { return now }
	_, err := newSender(t, cfg).Send(context.Background(), message())
	return channeltest.Failure(t, err)
}

func TestFieldReport27_DailyLimitsEndAtMidnightInBeijing(t *testing.T) {
	t.Parallel()
	night := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC) // 23:00 in Beijing
	for code, want := range map[string]struct {
		scope push.Scope
		wait  time.Duration
	}{
		"LimitExceeded.PhoneNumberThirtySecondLimit":     {push.ScopeRecipient, 30 * time.Second},
		"LimitExceeded.PhoneNumberOneHourLimit":          {push.ScopeRecipient, time.Hour},
		"LimitExceeded.PhoneNumberDailyLimit":            {push.ScopeRecipient, time.Hour},
		"LimitExceeded.PhoneNumberSameContentDailyLimit": {push.ScopeRecipient, time.Hour},
		"LimitExceeded.AppDailyLimit":                    {push.ScopeAccount, time.Hour},
		"FailedOperation.MarketingSendTimeConstraint":    {push.ScopeTemplate, 9 * time.Hour}, // until 08:00
		"RequestLimitExceeded":                           {push.ScopeChannel, 5 * time.Second},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if f := refuse(t, code, night); f.Class != push.Throttled || f.Scope != want.scope || f.Wait != want.wait || f.Class.UsesRetry() {
				t.Errorf("%v of %s for %v, want %+v", f, f.Scope, f.Wait, want)
			}
		})
	}
}

func TestFieldReport28_TimeoutAfterAcceptance(t *testing.T) {
	t.Parallel()
	for _, kind := range []provider.Kind{provider.AcceptThenStall, provider.AcceptThenReset} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: kind}}})
			cfg := config(box.URL())
			cfg.Timeout = channeltest.Timeout
			_, err := newSender(t, cfg).Send(context.Background(), message())
			if f := channeltest.Failure(t, err); f.Class != push.Ambiguous || box.Journal().Count(message().Reference) != 1 {
				t.Errorf("%v, accepted %d times; want ambiguous, once", f, box.Journal().Count(message().Reference))
			}
		})
	}
}

func TestFieldReport30_PhoneKeepsItsPlus(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	m := message()
	m.Recipient = "+12025550100"
	if _, err := newSender(t, config(box.URL())).Send(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	if got := box.Journal().Entries()[0].Recipient; got != m.Recipient {
		t.Errorf("went out as %s", got)
	}
}

func TestFieldReport32_RefusalsByCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]push.Class{
		"InvalidParameterValue.IncorrectPhoneNumber": push.Permanent,
		"FailedOperation.PhoneNumberInBlacklist":     push.Permanent,
		"FailedOperation.ContainSensitiveWord":       push.Permanent,
		"InvalidParameterValue.ContentLengthLimit":   push.Permanent,
		"RequestLimitExceeded":                       push.Throttled,
		"InternalError.OtherError":                   push.NotSent,
		"InternalError.SendAndRecvFail":              push.Ambiguous,
		"InternalError.SigVerificationFail":          push.Account,
		"InternalError.NeverSeen":                    push.NotSent,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			if f := refuse(t, code, time.Now()); f.Class != want || f.Code != code {
				t.Errorf("%v, want %s with the code kept", f, want)
			}
		})
	}
}

// Serial numbers keep every digit. What the official client cannot read at all is ambiguous: the number may have been
// served.
func TestAnswersAreReadWhateverTheirTypes(t *testing.T) {
	t.Parallel()
	const number = `"PhoneNumber":"+8613800138000","Code":"Ok"`
	for body, want := range map[string]struct {
		class push.Class
		id    string
	}{
		`{"Response":{"SendStatusSet":[{"SerialNo":"2645:9007199254740993123",` + number + `}]}}`:   {push.Accepted, "2645:9007199254740993123"},
		`{"Response":{"SendStatusSet":[{"SerialNo":"s","Fee":1,` + number + `}]}}`:                  {push.Accepted, "s"},
		`{"Response":{"SendStatusSet":[{"SerialNo":9007199254740993,` + number + `}]}}`:             {push.Ambiguous, ""},
		`{"Response":{"SendStatusSet":[{"SerialNo":"s","Fee":"1",` + number + `}]}}`:                {push.Ambiguous, ""},
		`{"Response":{"SendStatusSet":{}}}`:                                                         {push.Ambiguous, ""},
		`{"Response":null}`:                                                                         {push.Ambiguous, ""},
		`{"Response":{"SendStatusSet":[{"PhoneNumber":"+8613800138000","Code":"","Message":"?"}]}}`: {push.Ambiguous, ""},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			accepted, err := answer(t, body)
			class := push.Accepted
			if err != nil {
				class = push.FailureOf(err).Class
			}
			if class != want.class || accepted.MessageID != want.id {
				t.Errorf("%s with id %q, want %+v: %v", class, accepted.MessageID, want, err)
			}
		})
	}
}

// The same rules of strings as Aliyun's, by position; what the account's limit refuses never leaves.
func TestFieldReport29_ParamsAreStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("模", 7)
	for name, c := range map[string]struct {
		value   string
		most    int
		shorten bool
		want    string // on the wire
		code    string // else refused before any call
	}{
		"integer":               {"123456", 6, false, `["123456"]`, ""},
		"leading zeros":         {"000123", 6, false, `["000123"]`, ""},
		"boolean":               {"true", 6, false, `["true"]`, ""},
		"six characters":        {long[3:], 6, false, `["` + long[3:] + `"]`, ""},
		"seven characters":      {long, 6, false, "", "template_value_too_long"},
		"seven, shortened":      {long, 6, true, `["` + long[6:] + `…"]`, ""},
		"a number is never cut": {"1234567", 6, true, "", "template_value_too_long"},
		"no limit":              {long + long, 0, false, `["` + long + long + `"]`, ""},
		"address":               {"http://a.example", 0, false, "", "template_value_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{})
			cfg := config(box.URL())
			cfg.Templates = map[string]tencent.Template{"resume_viewed": {ID: "1", Params: []string{"{{.s}}"}}}
			cfg.Values = channels.Limit{Most: c.most, Shorten: c.shorten}
			m := message()
			m.Vars = map[string]string{"s": c.value}
			sender := newSender(t, cfg)
			if sender.Writes(m) != (c.code == "") {
				t.Errorf("it says that it can write it: %v", sender.Writes(m))
			}
			_, err := sender.Send(context.Background(), m)
			if c.code != "" {
				f := channeltest.Failure(t, err)
				if n := box.Requests(provider.Tencent, provider.CallSend); f.Class != push.Permanent || f.Code != c.code || n != 0 {
					t.Errorf("%v after %d calls, want permanent %s without one", err, n, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(box.Journal().Entries()[0].Params); got != c.want {
				t.Errorf("params %s, want %s", got, c.want)
			}
		})
	}
}

func TestPreviewIsTheRequest(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	preview, err := newSender(t, config(box.URL())).Preview(message())
	const want = `{"PhoneNumberSet":["+8613800138000"],"SmsSdkAppId":"1400000000","TemplateId":"20001","SignName":"某公司",` +
		`"TemplateParamSet":["Acme & <Söhne>","493817"],"SessionContext":"0123456789abcdef0123456789abcdef"}`
	if err != nil || string(preview) != want || box.Requests(provider.Tencent, provider.CallSend) != 0 {
		t.Errorf("preview %s, %v; want %s and no request", preview, err, want)
	}
}

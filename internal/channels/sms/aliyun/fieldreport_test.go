package aliyun_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"pusher/internal/channels"
	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/sms/aliyun"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// refuse sends to a sandbox that refuses with this code and words.
func refuse(t *testing.T, code, words string) (*push.Failure, *provider.Sandbox) {
	t.Helper()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{
		{Kind: provider.Refuse, Code: code, Message: words},
	}})
	_, err := newSender(t, config(box.URL())).Send(context.Background(), message())
	return channeltest.Failure(t, err), box
}

func TestFieldReport27_FlowControlHasThreeWaits(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]time.Duration{
		"触发分钟级流控Permits:1": time.Minute,
		"触发小时级流控Permits:5": time.Hour,
		"触发天级流控Permits:10": 24 * time.Hour,
		"flow control":     time.Hour,
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			f, _ := refuse(t, "isv.BUSINESS_LIMIT_CONTROL", words)
			if f.Class != push.Throttled || f.Scope != push.ScopeRecipient || f.Wait != want || f.Class.UsesRetry() {
				t.Errorf("%v with wait %v, want throttled for %v, no retry used", f, f.Wait, want)
			}
		})
	}
}

func TestFieldReport27_AccountStopsAreNoMessagesFault(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"isv.AMOUNT_NOT_ENOUGH", "isv.OUT_OF_SERVICE", "isp.RAM_PERMISSION_DENY"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			f, _ := refuse(t, code, "")
			if f.Class != push.Account || f.Scope != push.ScopeAccount || f.Class.UsesRetry() {
				t.Errorf("%v, want an account stop that uses no retry", f)
			}
		})
	}
}

// Variants of the fault: the answer comes too late, the connection is reset, nobody answers at all.
func TestFieldReport28_TimeoutAfterAcceptance(t *testing.T) {
	t.Parallel()
	for _, kind := range []provider.Kind{provider.AcceptThenStall, provider.AcceptThenReset} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: kind}}})
			cfg := config(box.URL())
			cfg.Timeout = channeltest.Timeout
			_, err := newSender(t, cfg).Send(context.Background(), message())
			if f := channeltest.Failure(t, err); f.Class != push.Ambiguous {
				t.Errorf("%v, want ambiguous", f)
			}
			if n := box.Journal().Count(message().Reference); n != 1 {
				t.Errorf("accepted %d times, want once", n)
			}
		})
	}
	t.Run("connection refused", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
		_, err = newSender(t, config("http://"+listener.Addr().String())).Send(context.Background(), message())
		if f := channeltest.Failure(t, err); f.Class != push.NotSent || !f.Unsent {
			t.Errorf("%v, want not sent, with proof", f)
		}
	})
}

func TestFieldReport29_ParamsAreStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("模", 36)
	for name, c := range map[string]struct {
		params map[string]string
		vars   map[string]string // as push.Event.Vars writes them
		want   string            // TemplateParam on the wire
		code   string            // else the terminal failure
		calls  int
	}{
		"integer":       {map[string]string{"code": "{{.code}}"}, map[string]string{"code": "123456"}, `{"code":"123456"}`, "", 1},
		"leading zeros": {map[string]string{"code": "{{.code}}"}, map[string]string{"code": "000123"}, `{"code":"000123"}`, "", 1},
		"exponent":      {map[string]string{"code": "{{.code}}"}, map[string]string{"code": "1000000"}, `{"code":"1000000"}`, "", 1},
		"boolean":       {map[string]string{"ok": "{{.ok}}"}, map[string]string{"ok": "true"}, `{"ok":"true"}`, "", 1},
		"newline":       {map[string]string{"s": "{{.s}}"}, map[string]string{"s": "a\nb"}, `{"s":"a\nb"}`, "", 1},
		"emoji":         {map[string]string{"s": "{{.s}}"}, map[string]string{"s": "😀"}, `{"s":"😀"}`, "", 1},
		"35 characters": {map[string]string{"s": "{{.s}}"}, map[string]string{"s": long[3:]}, `{"s":"` + long[3:] + `"}`, "", 1},
		"none":          {nil, nil, "", "", 1},
		"36 characters": {map[string]string{"s": "{{.s}}"}, map[string]string{"s": long}, "", "template_value_too_long", 0},
		"address":       {map[string]string{"s": "{{.s}}"}, map[string]string{"s": "at https://a.example"}, "", "template_value_url", 0},
		"missing":       {map[string]string{"s": "{{.s}}"}, map[string]string{"x": "y"}, "", "template_variable_missing", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{})
			cfg := config(box.URL())
			cfg.Templates = map[string]aliyun.Template{"resume_viewed": {Code: "SMS_1", Params: c.params}}
			cfg.Values = channels.Limit{Most: 35}
			m := message()
			m.Vars = c.vars
			sender := newSender(t, cfg)
			if sender.Writes(m) != (c.code == "") {
				t.Errorf("it says that it can write it: %v", sender.Writes(m))
			}
			_, err := sender.Send(context.Background(), m)
			if n := box.Requests(provider.Aliyun, provider.CallSend); n != c.calls {
				t.Errorf("%d calls, want %d", n, c.calls)
			}
			if c.code != "" {
				if f := channeltest.Failure(t, err); f.Class != push.Permanent || f.Code != c.code {
					t.Errorf("%v, want permanent %s", err, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(box.Journal().Entries()[0].Params); got != c.want {
				t.Errorf("TemplateParam %s, want %s", got, c.want)
			}
		})
	}
}

func TestFieldReport30_PhoneAsTheDomesticAPIWantsIt(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	for e164, want := range map[string]string{"+8613800138000": "13800138000", "+12025550100": "12025550100"} {
		m := message()
		m.Recipient, m.Reference = e164, e164
		if _, err := sender.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		if e := box.Journal().Entries(); e[len(e)-1].Recipient != want {
			t.Errorf("%s went out as %s, want %s", e164, e[len(e)-1].Recipient, want)
		}
	}
}

// The sandbox recomputes the signature from what came over the wire, by code of its own.
func TestFieldReport31_SignatureBearsSpecialCharacters(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	for _, value := range []string{" ", "+ * ~ ! ' ( ) % & =", "a+b c", "%20%2B", "厨师", "😀", "<&>\"\\/?#[]@:;,$", "\u2028"} {
		m := message()
		m.Vars["company"] = value
		if _, err := sender.Send(context.Background(), m); err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		entries := box.Journal().Entries()
		var params map[string]string
		if err := json.Unmarshal(entries[len(entries)-1].Params, &params); err != nil || params["company"] != value {
			t.Errorf("%q arrived as %q", value, params["company"])
		}
	}
}

func TestFieldReport31_SignatureErrorStopsTheAccount(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	cfg := config(box.URL())
	cfg.AccessKeySecret = "another-secret"
	_, err := newSender(t, cfg).Send(context.Background(), message())
	if f := channeltest.Failure(t, err); f.Class != push.Account || f.Code != "SignatureDoesNotMatch" {
		t.Errorf("%v, want an account stop", err)
	}
}

func TestFieldReport32_RefusalsByCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]push.Class{
		"isv.MOBILE_NUMBER_ILLEGAL":       push.Permanent,
		"isv.TEMPLATE_MISSING_PARAMETERS": push.Permanent,
		"isv.PARAM_LENGTH_LIMIT":          push.Permanent,
		"isv.BLACK_KEY_CONTROL_LIMIT":     push.Permanent,
		"isp.SYSTEM_ERROR":                push.NotSent,
		"isv.NEVER_SEEN":                  push.NotSent,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			f, box := refuse(t, code, "words")
			if f.Class != want || f.Code != code {
				t.Errorf("%v, want %s with the code kept", f, want)
			}
			if n := box.Requests(provider.Aliyun, provider.CallSend); n != 1 {
				t.Errorf("%d requests, want one", n)
			}
		})
	}
}

// Whom each limit holds up, and until when: days and months of the account's own quota end in Beijing.
func TestFieldReport27_LimitsHoldUpWhomTheyConcern(t *testing.T) {
	t.Parallel()
	night := time.Date(2026, 1, 31, 15, 0, 0, 0, time.UTC) // 23:00 in Beijing, the last of the month
	for code, want := range map[string]struct {
		scope push.Scope
		wait  time.Duration
	}{
		"isv.BUSINESS_LIMIT_CONTROL": {push.ScopeRecipient, 24 * time.Hour},
		"isv.DAY_LIMIT_CONTROL":      {push.ScopeAccount, time.Hour},
		"isv.MONTH_LIMIT_CONTROL":    {push.ScopeAccount, time.Hour},
		"Throttling.User":            {push.ScopeChannel, 5 * time.Second},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{
				Now:    func() time.Time { return night },
				Faults: []provider.Fault{{Kind: provider.Refuse, Code: code, Message: "触发天级流控Permits:10"}},
			})
			cfg := config(box.URL())
			cfg.Now = func() time.Time { return night }
			_, err := newSender(t, cfg).Send(context.Background(), message())
			if f := channeltest.Failure(t, err); f.Class != push.Throttled || f.Scope != want.scope || f.Wait != want.wait || f.Class.UsesRetry() {
				t.Errorf("%v of %s for %v, want %+v", f, f.Scope, f.Wait, want)
			}
		})
	}
}

package wechat_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/wechat"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

func TestRefusedTokenIsFetchedAgainAndTheSendRepeatedOnce(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	for i := range 3 {
		m := message()
		m.Reference = strings.Repeat("r", i+1)
		if _, err := sender.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
		box.ForgetTokens() // somebody forced a new one
	}
	if n := box.Requests(provider.WeChat, provider.CallToken); n != 3 {
		t.Errorf("%d token calls, want one for each token", n)
	}
	if n := box.Journal().Total(provider.WeChat); n != 3 {
		t.Errorf("%d accepted, want 3", n)
	}
}

func TestTokenIsSharedByManySends(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			m := message()
			m.Reference = strings.Repeat("r", i+1)
			if _, err := sender.Send(context.Background(), m); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := box.Requests(provider.WeChat, provider.CallToken); n != 1 {
		t.Errorf("%d token calls for 50 sends at once, want one", n)
	}
}

func TestAnswerOfADuplicateIsAYes(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Refuse, Code: "45065"}}})
	if _, err := newSender(t, config(box.URL())).Send(context.Background(), message()); err != nil {
		t.Errorf("%v, want the message to be there", err)
	}
}

func TestNewNamesTheBadTemplate(t *testing.T) {
	t.Parallel()
	for where, bad := range map[string]wechat.Template{
		"p.wechat.url": {URL: "{{"}, "p.wechat.data.thing1": {Data: map[string]string{"thing1": "{{.x"}},
	} {
		cfg := config("")
		cfg.Templates = map[string]wechat.Template{"p": bad}
		if _, err := wechat.New(cfg); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("error %v does not name %s", err, where)
		}
	}
}

func TestSendRefusesForGoodWithoutACall(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{})
	sender := newSender(t, config(box.URL()))
	other, field, link := message(), message(), message()
	other.BizType = "other"
	delete(field.Vars, "code")
	delete(link.Vars, "biz_id")
	for _, m := range []push.Message{other, field, link} {
		_, err := sender.Send(context.Background(), m)
		if f := channeltest.Failure(t, err); f.Class != push.Permanent {
			t.Errorf("%v, want permanent", err)
		}
	}
	if n := box.Requests(provider.WeChat, provider.CallToken); n != 0 {
		t.Errorf("%d token calls, want none", n)
	}
}

func TestFieldReport32_RefusalsByCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]push.Class{
		"40003": push.Permanent, "43004": push.Permanent, "47003": push.Permanent,
		"45009": push.Throttled, "48001": push.Account, "40164": push.Account,
		"-1":    push.Ambiguous, // a repeat with the same client_msg_id is harmless
		"12345": push.NotSent,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Refuse, Code: code}}})
			_, err := newSender(t, config(box.URL())).Send(context.Background(), message())
			if f := channeltest.Failure(t, err); f.Class != want || f.Code != code {
				t.Errorf("%v, want %s with the code kept", f, want)
			}
		})
	}
}

func TestLimitsHoldUpWhomTheyConcern(t *testing.T) {
	t.Parallel()
	night := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC) // 23:00 in Beijing
	for code, want := range map[string]struct {
		scope push.Scope
		wait  time.Duration
	}{
		"45009": {push.ScopeChannel, time.Hour}, "45011": {push.ScopeChannel, time.Minute},
		"43117": {push.ScopeRecipient, 10 * time.Minute},
	} {
		box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Refuse, Code: code}}})
		cfg := config(box.URL())
		cfg.Now = func() time.Time { return night }
		_, err := newSender(t, cfg).Send(context.Background(), message())
		if f := channeltest.Failure(t, err); f.Class != push.Throttled || f.Scope != want.scope || f.Wait != want.wait {
			t.Errorf("%v of %s for %v, want %+v", f, f.Scope, f.Wait, want)
		}
	}
}

func TestFieldReport34_SameIDMakesARepeatHarmless(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.AcceptThenStall, Each: 1}}})
	cfg := config(box.URL())
	cfg.Timeout = channeltest.Timeout
	sender := newSender(t, cfg)
	_, err := sender.Send(context.Background(), message())
	if f := channeltest.Failure(t, err); f.Class != push.Ambiguous {
		t.Errorf("%v, want ambiguous", err)
	}
	accepted, err := sender.Send(context.Background(), message())
	if err != nil {
		t.Fatal(err)
	}
	if n := box.Journal().Count(message().Reference); n != 1 || box.Repeats() != 1 {
		t.Errorf("accepted %d times, %d repeats stopped; want 1 and 1", n, box.Repeats())
	}
	if first := box.Journal().Entries()[0].MessageID; accepted.MessageID != first {
		t.Errorf("message id %s, want the first one's %s", accepted.MessageID, first)
	}
}

// wire records the body of the template send as it is.
func wire(t *testing.T) (url string, body func() string) {
	t.Helper()
	var mu sync.Mutex // guards got
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "stable_token") {
			_, _ = io.WriteString(w, `{"access_token":"a-b_c","expires_in":7200}`)
			return
		}
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = string(text)
		mu.Unlock()
		_, _ = io.WriteString(w, `{"errcode":0,"errmsg":"ok","msgid":1}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

func TestFieldReport35_SignsGoOutAsTheyAre(t *testing.T) {
	t.Parallel()
	url, body := wire(t)
	m := message()
	m.Vars["company"] = `<A&B> \u0026`
	if _, err := newSender(t, config(url)).Send(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	const want = `{"touser":"oABCD1234efgh5678ijkl9012mno","template_id":"TPL1","url":"https://example.com/r/10248?a=1&b=2",` +
		`"data":{"character_string2":{"value":"493817"},"thing1":{"value":"<A&B> \\u0026"}},` +
		`"client_msg_id":"0123456789abcdef0123456789abcdef"}`
	if got := body(); got != want {
		t.Errorf("the request is\n%s, want\n%s", got, want)
	}
}

// The rule: a value that its field does not take ends the delivery before any call, or is shortened by whole signs
// where the configuration says so. Nothing is ever cut inside a character.
func TestFieldReport35_LongAndBrokenValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value     string
		code      string // refused with, unless shortened
		shortened string
	}{
		"21 characters": {strings.Repeat("模", 21), "template_value_too_long", strings.Repeat("模", 19) + "…"},
		"newline":       {"two\nlines", "template_value_format", "two lines"},
		"family emoji":  {strings.Repeat("x", 19) + "👨‍👩‍👧‍👦", "template_value_too_long", strings.Repeat("x", 19) + "…"},
		"fits":          {strings.Repeat("模", 20), "", strings.Repeat("模", 20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, body := wire(t)
			m := message()
			m.Vars["company"] = c.value
			_, err := newSender(t, config(url)).Send(context.Background(), m)
			if f := push.FailureOf(err); c.code != "" && (err == nil || f.Class != push.Permanent || f.Code != c.code || body() != "") {
				t.Errorf("%v, want permanent %s before any call", err, c.code)
			}
			cfg := config(url)
			cfg.Shorten = true
			if _, err := newSender(t, cfg).Send(context.Background(), m); err != nil {
				t.Fatal(err)
			}
			var sent struct {
				Data map[string]struct{ Value string }
			}
			if err := json.Unmarshal([]byte(body()), &sent); err != nil || sent.Data["thing1"].Value != c.shortened || !utf8.ValidString(body()) {
				t.Errorf("went out as %q, %v; want %q", sent.Data["thing1"].Value, err, c.shortened)
			}
		})
	}
}

// An answer's numbers may come as texts, and every digit counts.
func TestAnswersAreReadWhateverTheirTypes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		class push.Class
		code  string
		id    string
	}{
		`{"errcode":0,"errmsg":"ok","msgid":3487542469355618313}`:     {push.Accepted, "", "3487542469355618313"},
		`{"errcode":"0","errmsg":"ok","msgid":"3487542469355618313"}`: {push.Accepted, "", "3487542469355618313"},
		`{"errcode":0,"errmsg":"ok"}`:                                 {push.Accepted, "", ""},
		`{"errcode":0,"msgid":{"high":1}}`:                            {push.Accepted, "", ""},
		`{"errcode":"43004","errmsg":"require subscribe"}`:            {push.Permanent, "43004", ""},
		`{"errcode":43004,"errmsg":"require subscribe"}`:              {push.Permanent, "43004", ""},
		`{"errcode":0.5,"errmsg":"ok"}`:                               {push.Ambiguous, "answer_without_code", ""},
		`{"errcode":null,"errmsg":"ok"}`:                              {push.Ambiguous, "answer_without_code", ""},
		`{"errcode":true}`:                                            {push.Ambiguous, "answer_without_code", ""},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Kind: provider.Answer, Body: body}}})
			accepted, err := newSender(t, config(box.URL())).Send(context.Background(), message())
			class, code := push.Accepted, ""
			if err != nil {
				class, code = push.FailureOf(err).Class, push.FailureOf(err).Code
			}
			if class != want.class || code != want.code || accepted.MessageID != want.id {
				t.Errorf("%s %s with id %q, want %+v: %v", class, code, accepted.MessageID, want, err)
			}
		})
	}
}

func TestTokenAnswersAreReadWhateverTheirTypes(t *testing.T) {
	t.Parallel()
	for body, class := range map[string]push.Class{
		`{"access_token":"t","expires_in":"7200"}`:         push.Account, // read; the sandbox does not know this token
		`{"access_token":"t","expires_in":7200}`:           push.Account,
		`{"errcode":"40164","errmsg":"invalid ip"}`:        push.Account,
		`{"access_token":"","expires_in":7200}`:            push.NotSent,
		`{"access_token":"t"}`:                             push.NotSent,
		`{"access_token":7,"expires_in":7200}`:             push.NotSent,
		`{"errcode":0,"errmsg":"ok"}`:                      push.NotSent,
		`{"errcode":"-1","errmsg":"system busy"}`:          push.NotSent,
		`{"errcode":45009,"errmsg":"reach max api daily"}`: push.Throttled,
	} {
		box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Call: provider.CallToken, Kind: provider.Answer, Body: body}}})
		_, err := newSender(t, config(box.URL())).Send(context.Background(), message())
		if f := channeltest.Failure(t, err); f.Class != class || box.Journal().Total("") != 0 {
			t.Errorf("%s: %v, want %s", body, err, class)
		}
	}
}

func TestPreviewIsTheRequest(t *testing.T) {
	t.Parallel()
	url, body := wire(t)
	sender := newSender(t, config(url))
	preview, err := sender.Preview(message())
	if err != nil || body() != "" {
		t.Fatalf("%v, sent %q", err, body())
	}
	if _, err := sender.Send(context.Background(), message()); err != nil || body() != string(preview) {
		t.Errorf("preview\n%s, sent\n%s, %v", preview, body(), err)
	}
	m := message()
	m.Vars["company"] = ""
	if _, err := sender.Preview(m); push.FailureOf(err).Code != "template_value_empty" {
		t.Errorf("%v, want a refusal", err)
	}
	if got := strings.Join(sender.Variables("resume_viewed"), " "); !strings.Contains(got, "company") || !strings.Contains(got, "biz_id") {
		t.Errorf("variables %s", got)
	}
}

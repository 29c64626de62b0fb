package provider_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common"
	sms "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/sms/v20210111"

	"pusher/internal/sandbox/provider"
)

// clock is a time that the test moves.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// try sends a template message and returns what came back, "" for no whole answer.
func try(t *testing.T, box *provider.Sandbox, token string, patience time.Duration) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, box.URL()+"/cgi-bin/message/template/send?access_token="+token,
		strings.NewReader(`{"touser":"oX","template_id":"T","data":{"thing1":{"value":"x"}},"client_msg_id":"r1"}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return answer.StatusCode, ""
	}
	return answer.StatusCode, string(text)
}

// Each way to fail, over the wire: what the client gets, and what was accepted.
func TestEveryKindOfFault(t *testing.T) {
	t.Parallel()
	const soon = provider.Duration(100 * time.Millisecond)
	cases := map[provider.Kind]struct {
		fault    provider.Fault
		patience time.Duration // of the client [5s]
		status   int
		body     string // "": no whole answer
		accepted int    // in the end
	}{
		provider.Refuse:          {fault: provider.Fault{Code: "43004", Message: "require subscribe", Status: 503}, status: 503, body: `"errcode":43004`},
		provider.Answer:          {fault: provider.Fault{Status: 502, Body: "<html>"}, status: 502, body: "<html>"},
		provider.Stall:           {fault: provider.Fault{Delay: soon}},
		provider.Reset:           {},
		provider.AcceptThenStall: {fault: provider.Fault{Delay: soon}, accepted: 1},
		provider.AcceptThenReset: {accepted: 1},
		provider.AcceptThenCut:   {status: 200, accepted: 1},
		provider.Late:            {fault: provider.Fault{Delay: soon}, patience: 20 * time.Millisecond, accepted: 1},
		provider.Latency:         {fault: provider.Fault{Delay: soon}, status: 200, body: `"errcode":0`, accepted: 1},
		provider.Throttle:        {fault: provider.Fault{Rate: 1}, status: 200, body: `"errcode":0`, accepted: 1},
		provider.Revoke:          {fault: provider.Fault{Provider: provider.WeChat}, status: 200, body: `"errcode":40001`},
	}
	for _, kind := range provider.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c, known := cases[kind]
			if !known {
				t.Fatal("nobody tries this one")
			}
			c.fault.Kind = kind
			box := start(t, provider.Config{Faults: []provider.Fault{c.fault}})
			patience := 5 * time.Second
			if c.patience > 0 {
				patience = c.patience
			}
			began := time.Now()
			status, body := try(t, box, token(t, box, stableToken), patience)
			if status != c.status || c.body == "" && body != "" || !strings.Contains(body, c.body) {
				t.Errorf("got %d %q, want %d %q", status, body, c.status, c.body)
			}
			if c.fault.Delay > 0 && c.patience == 0 && time.Since(began) < time.Duration(soon) {
				t.Errorf("it took %v, less than its delay", time.Since(began))
			}
			until(t, "accepted in the end", func() bool { return box.Journal().Total("") == c.accepted })
			if kind != provider.Throttle && box.Hits()[kind] != 1 {
				t.Errorf("met %v", box.Hits())
			}
		})
	}
}

func TestThrottleRefusesWhatIsOverItsRate(t *testing.T) {
	t.Parallel()
	now := newClock()
	box := start(t, provider.Config{Now: now.read, Faults: []provider.Fault{{Kind: provider.Throttle, Rate: 2}}})
	access := token(t, box, stableToken)
	for i, want := range []string{`:0,`, `:0,`, `:45011,`, `:45011,`} {
		if text := send(t, box, access, "oX", strings.Repeat("r", i+1)); !strings.Contains(text, `"errcode"`+want) {
			t.Errorf("send %d answers %s", i, text)
		}
	}
	now.move(time.Second)
	if text := send(t, box, access, "oX", "later"); !strings.Contains(text, `"errcode":0`) {
		t.Errorf("a second later: %s", text)
	}
	client := officialClient(t, box)
	for _, want := range []string{"", "RequestLimitExceeded"} { // one place of this second is left
		if _, err := client.SendSms(tencentMessage("r")); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestRevokedTokenIsReplaced(t *testing.T) {
	t.Parallel()
	force := strings.TrimSuffix(stableToken, "}") + `,"force_refresh":true}`
	for name, stale := range map[string]bool{"by the next call": false, "by force only": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := start(t, provider.Config{Faults: []provider.Fault{{Provider: provider.WeChat, Kind: provider.Revoke, Count: 1, Stale: stale}}})
			first := token(t, box, stableToken)
			for range 2 { // revoked, and dead
				if text := send(t, box, first, "oX", "r1"); !strings.Contains(text, "40001") {
					t.Errorf("with a revoked token: %s", text)
				}
			}
			next := token(t, box, stableToken)
			if (next == first) != stale {
				t.Errorf("after %s comes %s", first, next)
			}
			if stale {
				next = token(t, box, force)
			}
			if text := send(t, box, next, "oX", "r1"); !strings.Contains(text, `"errcode":0`) {
				t.Errorf("with a new token: %s", text)
			}
			if again := token(t, box, stableToken); again != next {
				t.Errorf("the new token is %s, and then %s", next, again)
			}
		})
	}
}

func tencentMessage(reference string) *sms.SendSmsRequest {
	r := sms.NewSendSmsRequest()
	r.PhoneNumberSet, r.SmsSdkAppId, r.TemplateId, r.SignName = common.StringPtrs([]string{"+8613800138000"}), new("1400"), new("20001"), new("x")
	r.SessionContext = &reference
	return r
}

// What the questions find: nothing before the lag is over, nothing of Tencent's before the carrier's word, then its word.
func TestQuestionsHaveTheirLag(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lag  time.Duration
		rule provider.ReceiptRule
		want string // the report's status after half a minute; "": no row
	}{
		"delivered":        {0, provider.ReceiptRule{}, "SUCCESS"},
		"failed":           {0, provider.ReceiptRule{Code: "UNDELIV"}, "FAIL"},
		"no receipt":       {0, provider.ReceiptRule{Never: true}, ""},
		"receipt later":    {0, provider.ReceiptRule{Delay: provider.Duration(time.Minute)}, ""},
		"not yet listed":   {time.Minute, provider.ReceiptRule{}, ""},
		"listed by then":   {10 * time.Second, provider.ReceiptRule{}, "SUCCESS"},
		"reported by then": {0, provider.ReceiptRule{Delay: provider.Duration(10 * time.Second)}, "SUCCESS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := newClock()
			box := start(t, provider.Config{Now: now.read, Queries: provider.Queries{Lag: provider.Duration(c.lag), Context: true}})
			if err := box.SetReceipts(provider.Receipts{Rules: []provider.ReceiptRule{c.rule}}); err != nil {
				t.Fatal(err)
			}
			client := officialClient(t, box)
			if _, err := client.SendSms(tencentMessage("r1")); err != nil {
				t.Fatal(err)
			}
			now.move(30 * time.Second)
			ask := sms.NewPullSmsSendStatusByPhoneNumberRequest()
			ask.BeginTime, ask.Offset, ask.Limit = new(uint64(now.read().Unix()-60)), common.Uint64Ptr(0), common.Uint64Ptr(10)
			ask.PhoneNumber, ask.SmsSdkAppId = new("+8613800138000"), new("1400")
			answer, err := client.PullSmsSendStatusByPhoneNumber(ask)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, row := range answer.Response.PullSmsSendStatusSet {
				got += *row.ReportStatus
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

func TestQueriesAreSetOverHTTP(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{})
	for body, want := range map[string]int{`{"lag":"30s","context":true}`: 200, `{"lag":"long"}`: 400, `{"delay":"3s"}`: 400} {
		if status, answer := ask(t, "POST", box.URL()+"/_sandbox/queries", body); status != want {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if _, answer := ask(t, "GET", box.URL()+"/_sandbox/queries", ""); !strings.Contains(answer, `"lag":"30s"`) || !strings.Contains(answer, `"context":true`) {
		t.Errorf("the queries are %s", answer)
	}
}

// docs/sandbox.md names every door, every key and every kind.
func TestThePageNamesEverything(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	want := []string{"/_sandbox/faults", "/_sandbox/journal", "/_sandbox/receipts", "/_sandbox/queries", provider.CallSend, provider.CallQuery, provider.CallToken}
	for _, kind := range provider.Kinds() {
		want = append(want, string(kind))
	}
	for _, of := range []any{provider.Fault{}, provider.Receipts{}, provider.ReceiptRule{}, provider.Posted{}, provider.Queries{}, provider.Entry{}} {
		for field := range reflect.TypeOf(of).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			want = append(want, name)
		}
	}
	slices.Sort(want)
	for _, name := range slices.Compact(want) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/sandbox.md does not name %q", name)
		}
	}
}

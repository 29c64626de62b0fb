package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pusher/internal/sandbox/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg provider.Config) *provider.Sandbox {
	t.Helper()
	box, err := provider.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// ask makes a request and returns its status and body.
func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

const stableToken = `{"grant_type":"client_credential","appid":"sandbox","secret":"sandbox-secret"}`

// token fetches a stable token.
func token(t *testing.T, box *provider.Sandbox, body string) string {
	t.Helper()
	_, text := ask(t, "POST", box.URL()+"/cgi-bin/stable_token", body)
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Token == "" {
		t.Fatalf("no token in %s", text)
	}
	return answer.Token
}

// send sends a template message to an openid.
func send(t *testing.T, box *provider.Sandbox, token, openid, id string) string {
	t.Helper()
	body := fmt.Sprintf(`{"touser":%q,"template_id":"T","data":{"thing1":{"value":"x"}},"client_msg_id":%q}`, openid, id)
	_, text := ask(t, "POST", box.URL()+"/cgi-bin/message/template/send?access_token="+token, body)
	return text
}

func TestClientMsgIDStopsARepeatForTenMinutes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards now
	now := time.Now()
	box := start(t, provider.Config{Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	access := token(t, box, stableToken)
	first := send(t, box, access, "o1", "r1")
	if again := send(t, box, access, "o1", "r1"); again != first {
		t.Errorf("a repeat answers %s, want %s", again, first)
	}
	send(t, box, access, "o2", "r1") // another openid
	send(t, box, access, "o1", "r2") // another id
	if n := box.Journal().Total(provider.WeChat); n != 3 || box.Repeats() != 1 {
		t.Errorf("%d accepted, %d repeats; want 3 and 1", n, box.Repeats())
	}
	mu.Lock()
	now = now.Add(10*time.Minute + time.Second)
	mu.Unlock()
	send(t, box, access, "o1", "r1")
	if n := box.Journal().Total(provider.WeChat); n != 4 {
		t.Errorf("%d accepted after the window, want 4", n)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{})
	first := token(t, box, stableToken)
	if again := token(t, box, stableToken); again != first {
		t.Errorf("stable tokens %s and %s differ", first, again)
	}
	forced := token(t, box, strings.TrimSuffix(stableToken, "}")+`,"force_refresh":true}`)
	if forced == first || !strings.Contains(send(t, box, first, "o1", "r1"), `"errcode":40001`) {
		t.Error("a forced refresh leaves the old token alive")
	}
	_, old := ask(t, "GET", box.URL()+"/cgi-bin/token?grant_type=client_credential&appid=sandbox&secret=sandbox-secret", "")
	if !strings.Contains(old, "access_token") || !strings.Contains(send(t, box, forced, "o1", "r1"), `"errcode":0`) {
		t.Errorf("token gives %s, or disturbs the stable one", old)
	}
	box.ForgetTokens()
	if !strings.Contains(send(t, box, forced, "o1", "r2"), `"errcode":40001`) {
		t.Error("a forgotten token is alive")
	}
	for body, code := range map[string]string{
		`{"appid":"x","secret":"y"}`: "40013", `{"appid":"sandbox","secret":"y"}`: "40125", `x`: "47001",
	} {
		if _, text := ask(t, "POST", box.URL()+"/cgi-bin/stable_token", body); !strings.Contains(text, code) {
			t.Errorf("%s answers %s, want %s", body, text, code)
		}
	}
}

func TestJournalIsTheReferee(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{Keep: 10})
	access := token(t, box, stableToken)
	send(t, box, access, "oABCD1234efgh", "r1")
	send(t, box, access, "oWXYZ1234efgh", "r1") // the same reference, accepted twice
	send(t, box, access, "oABCD1234efgh", "r2")
	if twice := box.Journal().Twice(); len(twice) != 1 || twice[0] != "r1" || box.Journal().Count("r1") != 2 {
		t.Errorf("sent twice: %v", twice)
	}
	_, text := ask(t, "GET", box.URL()+"/_sandbox/journal?limit=2", "")
	if !strings.Contains(text, `"twice":["r1"]`) || !strings.Contains(text, `"wechat":3`) || strings.Contains(text, "oABCD1234efgh") ||
		strings.Count(text, `"reference"`) != 2 {
		t.Errorf("the journal says %s", text)
	}
	if _, text = ask(t, "GET", box.URL()+"/_sandbox/journal?reference=r1", ""); strings.Count(text, `"reference":"r1"`) != 2 {
		t.Errorf("the journal of r1 says %s", text)
	}
	if status, _ := ask(t, "GET", box.URL()+"/_sandbox/journal?limit=x", ""); status != http.StatusBadRequest {
		t.Errorf("status %d for a limit that is no number", status)
	}
	for i := range 20 {
		send(t, box, access, "o", fmt.Sprint("later", i))
	}
	if n := len(box.Journal().Entries()); n > 11 || box.Journal().Total("") != 23 || box.Journal().Count("r1") != 0 {
		t.Errorf("%d entries kept of %d accepted", n, box.Journal().Total(""))
	}
}

func TestFaultsAreSetOverHTTP(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{})
	const rules = `{"faults":[{"provider":"wechat","share":1,"kind":"refuse","code":"43004","message":"require subscribe"},` +
		`{"provider":"wechat","call":"token","kind":"latency","delay":"5ms"}]}`
	if status, text := ask(t, "POST", box.URL()+"/_sandbox/faults", rules); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if _, text := ask(t, "GET", box.URL()+"/_sandbox/faults", ""); !strings.Contains(text, `"delay":"5ms"`) {
		t.Errorf("the rules are %s", text)
	}
	if text := send(t, box, token(t, box, stableToken), "o1", "r1"); !strings.Contains(text, "43004") {
		t.Errorf("the send answers %s", text)
	}
	for _, bad := range []string{`x`, `{"faults":[{"kind":"explode"}]}`, `{"faults":[{"kind":"stall","delay":"long"}]}`, `{"rules":[]}`} {
		if status, _ := ask(t, "POST", box.URL()+"/_sandbox/faults", bad); status != http.StatusBadRequest {
			t.Errorf("%s is answered with %d", bad, status)
		}
	}
	if len(box.Faults()) != 2 {
		t.Error("a bad list replaced the rules")
	}
	ask(t, "POST", box.URL()+"/_sandbox/faults", `{"faults":[]}`)
	if text := send(t, box, token(t, box, stableToken), "o1", "r1"); !strings.Contains(text, `"errcode":0`) {
		t.Errorf("without rules the send answers %s", text)
	}
}

func TestUnsignedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{})
	for header, want := range map[string]string{
		"x-acs-action": "IncompleteSignature", "X-TC-Action": "AuthFailure.InvalidAuthorization", "X-Other": "neither",
	} {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, box.URL()+"/", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, "SendSms")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, want %s", header, text, want)
		}
	}
	if box.Journal().Total("") != 0 || box.Requests(provider.Aliyun, provider.CallSend) != 0 {
		t.Error("an unsigned request counts")
	}
}

func TestWeChatRefusesWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{})
	url := box.URL() + "/cgi-bin/message/template/send?access_token=" + token(t, box, stableToken)
	for body, code := range map[string]string{
		`x`: "47001", `{"touser":"o","template_id":"T"}`: "47001",
		`{"template_id":"T","data":{}}`: "40003", `{"touser":"o","data":{}}`: "40037",
	} {
		if _, text := ask(t, "POST", url, body); !strings.Contains(text, code) {
			t.Errorf("%s answers %s, want %s", body, text, code)
		}
	}
}

func TestCloseEndsStalls(t *testing.T) {
	t.Parallel()
	box, err := provider.New(provider.Config{Faults: []provider.Fault{{Call: provider.CallToken, Kind: provider.Stall}}})
	if err != nil {
		t.Fatal(err)
	}
	if box.URL() != "" || box.Close() != nil {
		t.Error("a sandbox that was not started has an address, or does not close")
	}
	if box, err = provider.New(provider.Config{Faults: box.Faults()}); err != nil {
		t.Fatal(err)
	}
	if err := box.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // ended waits for it
		answer, err := http.Post(box.URL()+"/cgi-bin/stable_token", "application/json", strings.NewReader(stableToken))
		if err == nil {
			answer.Body.Close()
		}
		ended <- err
	}()
	for end := time.Now().Add(5 * time.Second); box.Requests(provider.WeChat, provider.CallToken) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // polls, with a deadline
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the stalled request got an answer")
	}
	if err := box.Start("256.0.0.1:0"); err == nil {
		t.Error("an address that is none is listened on")
	}
}

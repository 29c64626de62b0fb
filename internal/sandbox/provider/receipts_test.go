package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/sandbox/provider"
)

// hook is where receipts go: it answers from a list, then always with the last of it.
type hook struct {
	*httptest.Server

	mu      sync.Mutex // guards what follows
	answers []string
	bodies  []string
	queries []url.Values
}

func newHook(t *testing.T, answers ...string) *hook {
	t.Helper()
	h := &hook{answers: answers}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.bodies, h.queries = append(h.bodies, string(body)), append(h.queries, r.URL.Query())
		_, _ = io.WriteString(w, h.answers[0])
		if len(h.answers) > 1 {
			h.answers = h.answers[1:]
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// came returns the bodies so far.
func (h *hook) came() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bodies)
}

// until polls until cond holds.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// telling starts a sandbox that posts WeChat's receipts to h.
func telling(t *testing.T, h *hook, how provider.Receipts) (*provider.Sandbox, string) {
	t.Helper()
	box := start(t, provider.Config{})
	how.URLs = map[string]string{provider.WeChat: h.URL + "/receipts"}
	if err := box.SetReceipts(how); err != nil {
		t.Fatal(err)
	}
	return box, token(t, box, stableToken)
}

func TestReceiptFollowsAnAcceptedSend(t *testing.T) {
	t.Parallel()
	h := newHook(t, "success")
	box, access := telling(t, h, provider.Receipts{Token: "t", Rules: []provider.ReceiptRule{
		{Recipient: "oFAILS", Code: "user_block"}, {Recipient: "oTWICE", Times: 2}, {Recipient: "oNEVER", Never: true},
		{Recipient: "oMINDS", Code: "freq_limit", Then: "delivered"}, {Recipient: "oDOUBTS", Then: "freq_limit"},
	}})
	for i, openid := range []string{"oUSUAL", "oFAILS", "oTWICE", "oNEVER", "oMINDS", "oDOUBTS"} {
		send(t, box, access, openid, strconv.Itoa(i))
	}
	until(t, "eight receipts", func() bool { return box.Posted().Taken == 8 })
	all := strings.Join(h.came(), "\n")
	for said, n := range map[string]int{"oUSUAL": 1, "oFAILS": 1, "oTWICE": 2, "oNEVER": 0, "oMINDS": 2, "oDOUBTS": 2, "[success]": 5, "[failed:user block]": 1, "[failed:freq limit]": 2, "<MsgID>3487542469355618": 8} {
		if got := strings.Count(all, said); got != n {
			t.Errorf("%s is said %d times, want %d, in\n%s", said, got, n, all)
		}
	}
	if q := h.queries[0]; q.Get("signature") == "" || q.Get("timestamp") == "" || q.Get("nonce") == "" {
		t.Errorf("asked with %v", q)
	}
}

func TestEarlyReceiptComesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	h := newHook(t, "success")
	box, access := telling(t, h, provider.Receipts{Rules: []provider.ReceiptRule{{Early: true}}})
	send(t, box, access, "oX", "1")
	if got := len(h.came()); got != 1 {
		t.Errorf("%d receipts before the answer, want 1", got)
	}
}

func TestReceiptIsPostedAgainUntilItIsTaken(t *testing.T) {
	t.Parallel()
	h := newHook(t, "later", "<html>", "success")
	box, access := telling(t, h, provider.Receipts{Retry: provider.Duration(time.Millisecond)})
	send(t, box, access, "oX", "1")
	until(t, "taken", func() bool { return box.Posted().Taken == 1 })
	if got := box.Posted().Refused; got != 2 || len(h.came()) != 3 {
		t.Errorf("refused %d, posted %d", got, len(h.came()))
	}
}

func TestClosingEndsWhatIsStillToBePosted(t *testing.T) {
	t.Parallel()
	h := newHook(t, "success")
	box, access := telling(t, h, provider.Receipts{Delay: provider.Duration(time.Hour)})
	send(t, box, access, "oX", "1")
	http.DefaultClient.CloseIdleConnections()
	if err := box.Close(); err != nil || len(h.came()) != 0 {
		t.Errorf("closed with %v, %d posted", err, len(h.came()))
	}
}

func TestReceiptsAreSetOverHTTP(t *testing.T) {
	t.Parallel()
	box := start(t, provider.Config{})
	for body, want := range map[string]int{
		`{"urls":{"aliyun":"http://127.0.0.1:1/r"},"delay":"2s","rules":[{"code":"MK:0001","times":2}]}`: 200,
		`{"urls":{"twilio":"http://127.0.0.1:1/r"}}`:                                                     400,
		`{"urls":{"aliyun":"/r"}}`:                                                                       400,
		`{"urls":{},"aes_key":"short"}`:                                                                  400,
		`{"url":"http://127.0.0.1:1/r"}`:                                                                 400,
		`{}`:                                                                                             200,
	} {
		if status, answer := ask(t, "POST", box.URL()+"/_sandbox/receipts", body); status != want {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if status, answer := ask(t, "GET", box.URL()+"/_sandbox/receipts", ""); status != 200 || !strings.Contains(answer, `"taken":0`) {
		t.Errorf("%d %s", status, answer)
	}
}

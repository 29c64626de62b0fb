package dedup

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestIdempotencyKeyIsAStringOfStructuredFieldsOrBare(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		`"8e03978e-40d5-43dd-bc93-6894a57f9324"`: "8e03978e-40d5-43dd-bc93-6894a57f9324",
		`8e03978e`:                               "8e03978e",
		`"a b"`:                                  "a b",
		`"a\"b\\c"`:                              `a"b\c`,
		strings.Repeat("k", 255):                 strings.Repeat("k", 255),
	}
	for given, want := range good {
		if got, err := IdempotencyKey(http.Header{HeaderKey: {given}}); got != want || err != nil {
			t.Errorf("%s: %q %v", given, got, err)
		}
	}
	for _, given := range []string{"", `""`, `"a`, `a"`, `"a"b`, `"a";q=1`, `"a\x"`, "a b", "a,b", "é", "\"\x01\"", strings.Repeat("k", 256)} {
		if got, err := IdempotencyKey(http.Header{HeaderKey: {given}}); err == nil {
			t.Errorf("%q: taken as %q", given, got)
		}
	}
	if _, err := IdempotencyKey(http.Header{HeaderKey: {"a", "b"}}); err == nil {
		t.Error("two keys are taken")
	}
	if key, err := IdempotencyKey(http.Header{}); key != "" || err != nil {
		t.Errorf("none: %q %v", key, err)
	}
}

// shopDoor is a server behind the middleware whose handler answers as the path says, and counts.
type shopDoor struct {
	*httptest.Server

	mu  sync.Mutex
	ran map[string]int // guarded by mu; by path
}

func newDoor(t *testing.T, client redis.UniversalClient, change func(*MiddlewareConfig)) *shopDoor {
	t.Helper()
	d := &shopDoor{ran: map[string]int{}}
	cfg := MiddlewareConfig{Name: "shop", Window: window, Lease: lease, MaxBody: 100, MaxAnswer: 1000}
	if change != nil {
		change(&cfg)
	}
	handler, err := Middleware(client, cfg, http.HandlerFunc(d.serve))
	if err != nil {
		t.Fatal(err)
	}
	d.Server = httptest.NewServer(handler)
	t.Cleanup(d.Close)
	return d
}

func (d *shopDoor) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.ran[r.URL.Path]++
	n := d.ran[r.URL.Path]
	d.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	status, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/abcdefghijklmnopqrstuvwxyz"))
	if strings.HasPrefix(r.URL.Path, "/doubt") {
		InDoubt(r.Context())
	}
	if strings.HasPrefix(r.URL.Path, "/panic") {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-Order", strconv.Itoa(n))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, strings.Repeat(string(body), max(1, len(r.URL.Query().Get("times")))))
}

// post asks once and gives what matters of the answer as one text: status, count, replayed, body.
func (d *shopDoor) post(t *testing.T, path, key, body string) string {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL+path, strings.NewReader(body))
	if key != "" {
		r.Header.Set(HeaderKey, key)
	}
	res, err := d.Client().Do(r)
	if err != nil {
		return "cut"
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusConflict && res.Header.Get("Retry-After") == "" {
		t.Errorf("%s: 409 without Retry-After", path)
	}
	if res.Header.Get("X-Order") == "" {
		return strconv.Itoa(res.StatusCode)
	}
	return strings.TrimSuffix(strings.Join([]string{strconv.Itoa(res.StatusCode), res.Header.Get("X-Order"), res.Header.Get(HeaderReplayed), string(text)}, " "), " ")
}

func TestTheMiddlewareByStatus(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		d := newDoor(t, client, nil)
		tests := []struct{ path, first, again, other string }{
			{"/201", "201 1  tea", "201 1 true tea", "422"},
			{"/302", "302 1  tea", "302 1 true tea", "422"},
			{"/400", "400 1  tea", "400 2  tea", "422"},
			{"/503", "503 1  tea", "503 2  tea", "503 3  wine"},
			{"/504", "504 1  tea", "409", "422"},
			{"/doubt503", "503 1  tea", "409", "422"},
			{"/panic", "cut", "cut", "cut"},
		}
		d.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for _, tt := range tests {
			key := strings.Trim(tt.path, "/")
			if got := d.post(t, tt.path, key, "tea"); got != tt.first {
				t.Errorf("%s: first %q", tt.path, got)
			}
			if got := d.post(t, tt.path, key, "tea"); got != tt.again {
				t.Errorf("%s: again %q", tt.path, got)
			}
			if got := d.post(t, tt.path, key, "wine"); got != tt.other {
				t.Errorf("%s: with another payload %q", tt.path, got)
			}
		}
	})
}

func TestTheMiddlewareTellsRequestsApart(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{Addrs: []string{startRedis(t).addr}})
	d := newDoor(t, client, func(c *MiddlewareConfig) {
		c.Scope = func(r *http.Request) string { return r.URL.Query().Get("who") }
	})
	want := []struct{ path, key, body, answer string }{
		{"/201?who=ann", "k", "tea", "201 1  tea"},
		{"/201?who=bob", "k", "tea", "201 2  tea"},
		{"/201?who=ann", `"k"`, "tea", "201 1 true tea"},
		{"/201?who=ann&x=1", "k", "tea", "422"},
		{"/201", "", "tea", "201 3  tea"},
		{"/201", "", "tea", "201 4  tea"},
		{"/201", "a,b", "tea", "400"},
		{"/201", "large", strings.Repeat("x", 101), "413"},
	}
	for _, w := range want {
		if got := d.post(t, w.path, w.key, w.body); got != w.answer {
			t.Errorf("%s %s: %q, want %q", w.path, w.key, got, w.answer)
		}
	}
	keys, _ := client.Keys(t.Context(), "*").Result()
	if slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, "ann") }) {
		t.Errorf("keys show who: %v", keys)
	}
}

func TestAnAnswerTooLargeToKeepIsReplayedAsItsStatus(t *testing.T) {
	t.Parallel()
	d := newDoor(t, connect(t, Config{Addrs: []string{startRedis(t).addr}}), func(c *MiddlewareConfig) { c.MaxAnswer = 50 })
	d.post(t, "/201?times=1234567890123456789", "k", "tea tea tea")
	if got := d.post(t, "/201?times=1234567890123456789", "k", "tea tea tea"); got != "200" {
		t.Errorf("got %q", got)
	}
}

func TestTheMiddlewareWithoutRedis(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	client := connect(t, Config{Addrs: []string{server.addr}})
	refuse := newDoor(t, client, func(c *MiddlewareConfig) { c.Required = true })
	pass := newDoor(t, client, func(c *MiddlewareConfig) { c.PassDown = true })
	server.stop()
	if got := refuse.post(t, "/201", "k", "tea"); got != "503" {
		t.Errorf("refusing: %q", got)
	}
	if got := refuse.post(t, "/201", "", "tea"); got != "400" {
		t.Errorf("without the required key: %q", got)
	}
	if got := pass.post(t, "/201", "k", "tea"); got != "201 1  tea" {
		t.Errorf("letting through: %q", got)
	}
}

func TestFailuresArePlainTextUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	failPlainly(rec, nil, Fault{409, ErrInProgress, 1200 * time.Millisecond})
	if rec.Code != 409 || rec.Header().Get("Retry-After") != "2" || !strings.Contains(rec.Body.String(), ErrInProgress.Error()) {
		t.Errorf("got %+v", rec)
	}
	if _, err := Middleware(nil, MiddlewareConfig{}, nil); err == nil || errors.Is(err, errKey) {
		t.Errorf("a middleware without a name: %v", err)
	}
}

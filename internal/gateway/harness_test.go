package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// topic is a Kafka in memory that fails on demand.
type topic struct {
	mu      sync.Mutex
	records []push.Record                    // guarded by mu
	fails   func(i int, r push.Record) error // guarded by mu; nil: nothing fails
	entered chan<- struct{}                  // guarded by mu; closed by the first write that waits
	holds   <-chan struct{}                  // guarded by mu; not nil: a write waits until it is closed
}

// Each keeps the records, but those that fail. One whose outcome is unknown is kept.
func (t *topic) Each(ctx context.Context, records []push.Record) []error {
	t.mu.Lock()
	holds := t.holds
	if t.entered != nil {
		close(t.entered)
		t.entered = nil
	}
	t.mu.Unlock()
	errs := make([]error, len(records))
	if holds != nil {
		select {
		case <-holds:
		case <-ctx.Done():
			return []error{ctx.Err()}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range records {
		if t.fails != nil {
			errs[i] = t.fails(i, r)
		}
		if !errors.Is(errs[i], push.ErrUnwritten) {
			t.records = append(t.records, r)
		}
	}
	return errs
}

// holding makes writes wait until hold is closed; nil: they do not.
func (t *topic) holding(entered chan<- struct{}, hold <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entered, t.holds = entered, hold
}

func (t *topic) failing(fails func(i int, r push.Record) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fails = fails
}

// ids are the keys of the records, in their order.
func (t *topic) ids() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for _, r := range t.records {
		ids = append(ids, string(r.Key))
	}
	return strings.Join(ids, " ")
}

// tally is a Meter.
type tally struct {
	mu     sync.Mutex
	events map[string]int // guarded by mu; by outcome
}

func (*tally) Request(string, int, time.Duration) {}
func (*tally) Guarded(string, string)             {}
func (m *tally) Events(_, outcome string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events[outcome] += n
}

// world is a gateway on a real Redis with a topic in memory. Every exchange with it is held to the document.
type world struct {
	*httptest.Server

	gateway *Gateway
	topic   *topic
	meter   *tally
	log     *testbed.Log
	redis   *redis.Client
	secret  string // of the producer "orders"
	other   string // of the producer "jobs"
}

func newWorld(t testing.TB, options *redis.Options, change func(*Config)) *world {
	t.Helper()
	w := &world{topic: &topic{}, meter: &tally{events: map[string]int{}}, log: &testbed.Log{}}
	w.redis = redis.NewClient(options)
	t.Cleanup(func() { _ = w.redis.Close() })
	cfg := Config{
		Topic: "push-events", TokenKey: []byte(strings.Repeat("k", 32)), TokenLife: time.Minute,
		Rules:     map[string]push.Rule{"viewed": {BizType: "viewed"}},
		KeyWindow: time.Hour, PrintWindow: time.Minute, Lease: 10 * time.Second,
		MaxBody: 1 << 21, MaxBatch: 200, InHand: 1 << 26, Timeout: 5 * time.Second,
		Log: zerolog.New(w.log), Meter: w.meter, Now: time.Now,
	}
	for name, secret := range map[string]*string{"orders": &w.secret, "jobs": &w.other} {
		var entry string
		*secret, entry = NewCredential(name)
		cfg.Producers = append(cfg.Producers, producerOf(t, entry))
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.gateway, err = New(cfg, w.redis, w.topic); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	w.gateway.Hang(mux)
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	return w
}

// producerOf reads an entry of gateway.producers.
func producerOf(t testing.TB, entry string) Producer {
	t.Helper()
	name, hash, _ := strings.Cut(entry, "=sha256:")
	p := Producer{Name: name}
	if n, err := hex.Decode(p.Hash[:], []byte(hash)); n != sha256.Size || err != nil {
		t.Fatalf("entry %q: %v", entry, err)
	}
	return p
}

// reply is an answer, read.
type reply struct {
	*http.Response

	text string
	answer
	problem
}

// says is what matters of an answer, as one text.
func (r reply) says() string {
	if r.StatusCode >= 400 {
		return fmt.Sprintf("%d %s", r.StatusCode, r.Code)
	}
	replayed := ""
	if r.Header.Get(dedup.HeaderReplayed) != "" {
		replayed = " replayed"
	}
	return fmt.Sprintf("%d %d/%d/%d%s", r.StatusCode, r.Accepted, r.Repeated, len(r.Refused), replayed)
}

// post sends a body to /v1/events as the producer "orders"; headers in pairs.
func (w *world) post(t testing.TB, body string, headers ...string) reply {
	t.Helper()
	return w.ask(t, http.MethodPost, "/v1/events", body, append([]string{"Authorization", "Bearer " + w.secret}, headers...)...)
}

// token gets one for the producer "orders".
func (w *world) token(t testing.TB) string {
	t.Helper()
	got := w.ask(t, http.MethodPost, "/v1/tokens", "", "Authorization", "Bearer "+w.secret)
	var given issued
	if err := json.Unmarshal([]byte(got.text), &given); err != nil || got.StatusCode != http.StatusCreated {
		t.Fatalf("no token: %s", got.text)
	}
	return given.Token
}

func (w *world) ask(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := reply{Response: res, text: string(text)}
	if res.StatusCode < 300 {
		_ = json.Unmarshal(text, &got.answer)
	} else if err := json.Unmarshal(text, &got.problem); err != nil && method != http.MethodHead {
		t.Errorf("%s %s: %d without a problem: %s", method, path, res.StatusCode, text)
	}
	if res.StatusCode >= 400 && method != http.MethodHead && got.Detail == "" {
		t.Errorf("%s %s: %s does not say how to mend it", method, path, text)
	}
	w.compareWithDocument(t, r, body, res, text)
	return got
}

// compareWithDocument checks an exchange against the document that the gateway serves: the answer always, the request where
// it was accepted.
func (w *world) compareWithDocument(t testing.TB, r *http.Request, body string, res *http.Response, text []byte) {
	t.Helper()
	if r.Method == http.MethodPost && (r.URL.Path == "/v1/events" || r.URL.Path == "/v1/tokens") {
		v := contract(t, w.gateway.spec)
		res.Body = io.NopCloser(bytes.NewReader(text))
		if ok, faults := v.ValidateHttpResponse(r, res); !ok {
			t.Errorf("answer %d %s breaks the document: %v", res.StatusCode, text, faults[0].Error())
		}
		ndjson := strings.Contains(r.Header.Get("Content-Type"), "json") && !strings.Contains(r.Header.Get("Content-Type"), "ndjson")
		if res.StatusCode < 300 && ndjson && r.URL.Path == "/v1/events" {
			r.Body = io.NopCloser(strings.NewReader(body))
			if ok, faults := v.ValidateHttpRequestSync(r); !ok && !strings.Contains(r.URL.RawQuery, "partial") {
				t.Errorf("accepted %s, which the document does not allow: %v", body, faults[0].Error())
			}
		}
	}
}

// contract is the validator of the document.
func contract(t testing.TB, spec []byte) validator.Validator {
	t.Helper()
	doc, err := libopenapi.NewDocument(spec)
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return v
}

func event(id int) string {
	return fmt.Sprintf(`{"biz_type":"viewed","biz_id":%d,"recipient":{"user_id":"42"},"params":{"company":"ACME"}}`, id)
}

// events are so many, from the first id on.
func events(first, n int) []string {
	var list []string
	for i := range n {
		list = append(list, event(first+i))
	}
	return list
}

func array(events ...string) string { return "[" + strings.Join(events, ",") + "]" }

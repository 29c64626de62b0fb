package gateway

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

func TestOneEventAnArrayAndLinesAreWrittenAsTheyCame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if got := w.post(t, event(1), "traceparent", trace, "tracestate", "a=b"); got.says() != "202 1/0/0" {
		t.Fatal(got.text)
	}
	w.post(t, array(events(2, 2)...), "traceparent", "nonsense", "tracestate", "a=b")
	w.post(t, event(4)+"\n\n"+event(5)+"\r\n", "Content-Type", "application/x-ndjson; charset=utf-8")
	w.post(t, "\uFEFF "+event(6), "Content-Type", "")
	w.post(t, `{"specversion":"1.0","id":"x","source":"s","type":"t","data":`+event(7)+`}`, "Content-Type", "application/cloudevents+json")
	if w.topic.ids() != "1 2 3 4 5 6 7" {
		t.Fatalf("got %s", w.topic.ids())
	}
	for i, r := range w.topic.records {
		traced, _ := r.Header(push.HeaderTraceParent)
		_, state := r.Header("tracestate")
		if (traced == trace) != (i == 0) || state != (i == 0) || r.Topic != "push-events" {
			t.Errorf("record %d: %+v", i, r.Headers)
		}
		if e, err := push.Decode(r); err != nil || e.BizID != string(r.Key) {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if string(w.topic.records[1].Value) != event(2) {
		t.Errorf("written as %s", w.topic.records[1].Value)
	}
}

func TestTheSameKeyGetsTheSameAnswerMarked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	first := w.post(t, array(events(1, 3)...), dedup.HeaderKey, `"k"`)
	again := w.post(t, array(events(1, 3)...), dedup.HeaderKey, "k")
	if first.says() != "202 3/0/0" || again.says() != "202 3/0/0 replayed" || first.text != again.text {
		t.Errorf("%s %s\n%s %s", first.says(), first.text, again.says(), again.text)
	}
	if got := w.post(t, array(events(1, 2)...), dedup.HeaderKey, "k"); got.says() != "422 key_reused" {
		t.Errorf("another payload: %s", got.says())
	}
	if got := w.ask(t, "POST", "/v1/events", event(9), "Authorization", "Bearer "+w.other, dedup.HeaderKey, "k"); got.says() != "202 1/0/0" {
		t.Errorf("another producer's key: %s", got.says())
	}
	if w.topic.ids() != "1 2 3 9" {
		t.Errorf("written: %s", w.topic.ids())
	}
}

func TestWithoutKeyTheSameEventIsToldByItsFingerprint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	first := w.post(t, array(events(1, 3)...))
	again := w.post(t, array(events(1, 3)...))
	if first.says() != "202 3/0/0" || again.says() != "202 3/0/0 replayed" || first.text != again.text {
		t.Errorf("%s\n%s", first.text, again.text)
	}
	shuffled := `{ "params": {"company":"ACME"}, "recipient":{"user_id":"42"}, "biz_id": 2, "biz_type":"viewed" }`
	for body, want := range map[string]string{
		shuffled:                                      "202 0/1/0 replayed",
		array(event(2), event(10)):                    "202 1/1/0",
		array(event(11), event(11)):                   "202 1/1/0",
		array(event(1), event(2)):                     "202 0/2/0 replayed",
		strings.ReplaceAll(event(1), "ACME", "Other"): "202 1/0/0",
	} {
		if got := w.post(t, body); got.says() != want {
			t.Errorf("%s: %s, want %s", body, got.says(), want)
		}
	}
	if got := w.ask(t, "POST", "/v1/events", event(1), "Authorization", "Bearer "+w.other); got.says() != "202 1/0/0" {
		t.Errorf("another producer's event: %s", got.says())
	}
}

// Of a repeated name the last counts: the other order is another event.
func TestEventsThatRepeatANameAreToldApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	for _, ids := range []string{`"biz_id":1,"biz_id":2`, `"biz_id":2,"biz_id":1`} {
		body := `{"biz_type":"viewed",` + ids + `}`
		if got := w.post(t, body); got.says() != "202 1/0/0" {
			t.Errorf("%s: %s", body, got.says())
		}
		if got := w.post(t, body); got.says() != "202 1/0/0 replayed" {
			t.Errorf("%s again: %s", body, got.says())
		}
	}
}

func TestConfiguredFieldsMakeTheFingerprint(t *testing.T) {
	t.Parallel()
	by, err := push.ParseBy("biz_id", "params.company")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, testbed.Redis(t), func(c *Config) { c.PrintBy = &by })
	renamed := func(s string) string { return strings.Replace(s, "{", `{"event_id":"again",`, 1) }
	for _, step := range [][2]string{
		{event(1), "202 1/0/0"},
		{renamed(event(1)), "202 1/0/0 replayed"},
		{strings.ReplaceAll(event(1), "ACME", "Other"), "202 1/0/0"},
		{strings.Replace(event(1), "{", `{"actions":["sms"],`, 1), "202 1/0/0"},
		{`{"biz_type":"viewed","biz_id":1}`, "202 1/0/0"}, // lacks a field: the whole event counts
		{`{"biz_id":1,"biz_type":"viewed"}`, "202 1/0/0 replayed"},
	} {
		if got := w.post(t, step[0]); got.says() != step[1] {
			t.Errorf("%s: %s, want %s", step[0], got.says(), step[1])
		}
	}
}

func TestABadEventKeepsTheWholeBatchOutUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	body := array(event(1), `{"biz_type":"viewed"}`, `{"biz_type":"bought","biz_id":1}`, `null`, event(2), `{"biz_type":"viewed","biz_id":1e3}`)
	for _, key := range []string{"", "k"} {
		var headers []string
		if key != "" {
			headers = []string{dedup.HeaderKey, key}
		}
		got := w.post(t, body, headers...)
		if got.says() != "400 invalid_events" || w.topic.ids() != "" {
			t.Fatalf("%s, written %q", got.text, w.topic.ids())
		}
		want := "[{1 biz_id missing_field} {2 biz_type unknown_biz_type} {3  not_object} {5 biz_id wrong_value}]"
		var faults []string
		for _, f := range got.Errors {
			faults = append(faults, fmt.Sprintf("{%d %s %s}", f.Index, f.Field, f.Reason))
		}
		if got := "[" + strings.Join(faults, " ") + "]"; got != want {
			t.Errorf("faults %s", got)
		}
	}
	auth := []string{"Authorization", "Bearer " + w.secret, dedup.HeaderKey, "k2"}
	got := w.ask(t, "POST", "/v1/events?partial=true", body, auth...)
	again := w.ask(t, "POST", "/v1/events?partial=true", body, auth...)
	if got.says() != "202 2/0/4" || again.text != got.text || w.topic.ids() != "1 2" {
		t.Errorf("%s\n%s", got.text, again.text)
	}
	if got := w.ask(t, "POST", "/v1/events?partial=true", `{"biz_type":"viewed"}`, auth[:2]...); got.says() != "400 invalid_events" {
		t.Errorf("nothing but bad events: %s", got.says())
	}
}

// TestEveryFaultOfAnEventIsNamed: but a request has no more of them than events may be in it.
func TestEveryFaultOfAnEventIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), func(c *Config) { c.MaxBatch = 5 })
	const bad = `{"biz_type":"","biz_id":1.5,"recipient":7,"expires_at":"soon"}`
	faults := func(list []refusal) string {
		var said []string
		for _, f := range list {
			said = append(said, fmt.Sprint(f.Index, " ", f.Field))
		}
		return strings.Join(said, ", ")
	}
	for body, want := range map[string]string{
		bad:                            "0 biz_type, 0 biz_id, 0 recipient, 0 expires_at",
		array(event(1), bad):           "1 biz_type, 1 biz_id, 1 recipient, 1 expires_at",
		array(bad, bad, "{}"):          "0 biz_type, 0 biz_id, 0 recipient, 1 biz_type, 2 biz_type",
		array(bad, bad, bad, bad, bad): "0 biz_type, 1 biz_type, 2 biz_type, 3 biz_type, 4 biz_type",
	} {
		if got := w.post(t, body); got.says() != "400 invalid_events" || faults(got.Errors) != want {
			t.Errorf("%s: %s", body, faults(got.Errors))
		}
	}
	got := w.ask(t, "POST", "/v1/events?partial=true", array(event(1), bad, event(2)), "Authorization", "Bearer "+w.secret)
	if got.Accepted != 2 || faults(got.Refused) != "1 biz_type, 1 biz_id, 1 recipient, 1 expires_at" || w.meter.events[arrivedInvalid] != 1+1+3+5+1 {
		t.Errorf("in part: %s, counted %v", got.text, w.meter.events)
	}
}

func TestWhatIsNotUnderstoodIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	auth := "Bearer " + w.secret
	large := event(1) + strings.Repeat(" ", 1<<21)
	tests := []struct {
		name, method, path, body string
		headers                  []string
		says                     string
	}{
		{"no credential", "POST", "/v1/events", event(1), nil, "401 unauthorized"},
		{"unknown credential", "POST", "/v1/tokens", "", []string{"Authorization", "Bearer pgw_x"}, "401 unauthorized"},
		{"another scheme", "POST", "/v1/events", event(1), []string{"Authorization", "Basic " + w.secret}, "401 unauthorized"},
		{"no event", "POST", "/v1/events", "  ", []string{"Authorization", auth}, "400 bad_request"},
		{"empty array", "POST", "/v1/events", "[]", []string{"Authorization", auth}, "400 bad_request"},
		{"broken array", "POST", "/v1/events", "[{]", []string{"Authorization", auth}, "400 bad_request"},
		{"no JSON", "POST", "/v1/events", "hello", []string{"Authorization", auth}, "400 invalid_events"},
		{"a form", "POST", "/v1/events", "a=b", []string{"Authorization", auth, "Content-Type", "application/x-www-form-urlencoded"}, "415 unsupported_media_type"},
		{"partly", "POST", "/v1/events?partial=maybe", event(1), []string{"Authorization", auth}, "400 bad_request"},
		{"bad key", "POST", "/v1/events", event(1), []string{"Authorization", auth, dedup.HeaderKey, "a b"}, "400 invalid_key"},
		{"key and token", "POST", "/v1/events", event(1), []string{"Authorization", auth, dedup.HeaderKey, "a", HeaderToken, "b"}, "400 bad_request"},
		{"too large", "POST", "/v1/events", large, []string{"Authorization", auth}, "413 too_large"},
		{"too large, with a key", "POST", "/v1/events", large, []string{"Authorization", auth, dedup.HeaderKey, "a"}, "413 too_large"},
		{"too many", "POST", "/v1/events", array(events(1, 201)...), []string{"Authorization", auth}, "413 too_large"},
		{"another method", "GET", "/v1/events", "", nil, "405 method_not_allowed"},
		{"nowhere", "GET", "/v2/events", "", nil, "404 not_found"},
	}
	for _, tt := range tests {
		if got := w.ask(t, tt.method, tt.path, tt.body, tt.headers...); got.says() != tt.says || got.RequestID != got.Header.Get(headerRequest) {
			t.Errorf("%s: %s", tt.name, got.text)
		}
	}
	if w.topic.ids() != "" {
		t.Errorf("written: %s", w.topic.ids())
	}
}

func TestWhatKafkaSaysDecidesWhetherTheKeyStaysOpen(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("%w: no broker", push.ErrUnwritten)
	one := func(err error) func(int, push.Record) error {
		return func(i int, _ push.Record) error {
			if i == 0 {
				return err
			}
			return nil
		}
	}
	all := func(err error) func(int, push.Record) error { return func(int, push.Record) error { return err } }
	oversized := fmt.Errorf("%w: %w", push.ErrUnwritten, push.ErrOversized)
	tests := []struct {
		name  string
		fails func(int, push.Record) error
		says  string
		other string // another payload under the same key, once Kafka is back
	}{
		{"away", all(away), "503 kafka_away", "202 1/0/0"},
		{"no answer", all(errors.New("timeout")), "503 outcome_unknown", "422 key_reused"},
		{"one without answer", one(errors.New("timeout")), "503 outcome_unknown", "422 key_reused"},
		{"half away", one(away), "503 outcome_unknown", "422 key_reused"},
		{"over the topic's size", all(oversized), "413 too_large", "202 1/0/0"},
	}
	w := newWorld(t, testbed.Redis(t), nil)
	for i, tt := range tests {
		body, key := array(events(10*i, 2)...), fmt.Sprint("k", i)
		w.topic.failing(tt.fails)
		got := w.post(t, body, dedup.HeaderKey, key)
		if got.says() != tt.says || strings.HasPrefix(tt.says, "503") && got.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s", tt.name, got.text)
		}
		w.topic.failing(nil)
		if got := w.post(t, event(10*i+5), dedup.HeaderKey, key); got.says() != tt.other {
			t.Errorf("%s: another payload then: %s", tt.name, got.says())
		}
		if strings.HasPrefix(tt.other, "422") {
			if got := w.post(t, body, dedup.HeaderKey, key); got.says() != "202 2/0/0" {
				t.Errorf("%s: the same payload then: %s", tt.name, got.says())
			}
		}
	}
	w.topic.failing(one(oversized))
	if got := w.post(t, array(events(90, 2)...), dedup.HeaderKey, "part"); got.says() != "202 1/0/1" || got.Refused[0].Reason != "too_large" {
		t.Errorf("one over the topic's size: %s", got.text)
	}
}

func TestWhatKafkaSaysOfEventsWithoutAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	second := func(err error) func(int, push.Record) error {
		return func(_ int, r push.Record) error {
			if strings.HasSuffix(string(r.Key), "2") {
				return err
			}
			return nil
		}
	}
	w.topic.failing(second(push.ErrUnwritten))
	if got := w.post(t, array(events(1, 2)...)); got.says() != "503 outcome_unknown" {
		t.Errorf("half away: %s", got.says())
	}
	w.topic.failing(nil)
	if got := w.post(t, array(events(1, 2)...)); got.says() != "202 1/1/0" || w.topic.ids() != "1 2" {
		t.Errorf("then: %s, written %s", got.says(), w.topic.ids())
	}
	w.topic.failing(second(errors.New("timeout")))
	if got := w.post(t, array(events(11, 2)...)); got.says() != "503 outcome_unknown" {
		t.Errorf("no answer: %s", got.says())
	}
	w.topic.failing(nil)
	if got := w.post(t, array(events(11, 2)...)); got.says() != "202 1/1/0" {
		t.Errorf("then: %s", got.says())
	}
	w.topic.failing(func(int, push.Record) error { return push.ErrUnwritten })
	if got := w.post(t, array(events(21, 2)...)); got.says() != "503 kafka_away" {
		t.Errorf("away: %s", got.says())
	}
	w.topic.failing(func(int, push.Record) error { return fmt.Errorf("%w: %w", push.ErrUnwritten, push.ErrOversized) })
	if got := w.post(t, event(31)); got.says() != "413 too_large" {
		t.Errorf("oversized: %s", got.says())
	}
}

func TestWhileARequestIsInProgressTheSameIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), func(c *Config) { c.Timeout = time.Minute })
	for _, headers := range [][]string{{dedup.HeaderKey, "k"}, nil, {HeaderToken, w.token(t)}} {
		entered, hold := make(chan struct{}), make(chan struct{})
		w.topic.holding(entered, hold)
		var first sync.WaitGroup
		first.Go(func() {
			if got := w.post(t, event(1), headers...); got.says() != "202 1/0/0" {
				t.Errorf("the first: %s", got.text)
			}
		})
		<-entered
		w.topic.holding(nil, nil)
		if got := w.post(t, event(1), headers...); got.says() != "409 in_progress" || got.Header.Get("Retry-After") == "" {
			t.Errorf("%v: %s", headers, got.text)
		}
		if len(headers) == 0 {
			got := w.ask(t, "POST", "/v1/events?partial=true", array(event(1), event(2)), "Authorization", "Bearer "+w.secret)
			if got.says() != "202 1/0/1" || got.Refused[0].Reason != reasonBusy {
				t.Errorf("in part: %s", got.text)
			}
		} else if got := w.post(t, event(2), headers...); got.says() != "422 key_reused" {
			t.Errorf("another payload: %s", got.says())
		}
		close(hold)
		first.Wait()
	}
}

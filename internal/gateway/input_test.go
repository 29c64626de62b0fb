package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/dedup"
	"pusher/internal/testbed"
)

// TestBodiesOfEveryKind: what producers send by mistake, or by other means than most, and what they are told.
func TestBodiesOfEveryKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	lines := []string{"Content-Type", "application/x-ndjson"}
	nested := func(n int) string {
		return `{"biz_type":"viewed","biz_id":1,"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, event(1))
	_ = z.Close()
	tests := []struct {
		name, body string
		headers    []string
		says       string
		tells      string // a part of the answer
	}{
		{"lines with CRLF and blank ones", "\r\n" + event(10) + "\r\n \r\n\n" + event(11) + "\r\n\r\n", lines, "202 2/0/0", ""},
		{"a byte-order mark", "\uFEFF" + array(event(12)), []string{"Content-Type", ""}, "202 1/0/0", ""},
		{"space around", " \r\n\t" + array(" "+event(13)+" ") + "\n ", nil, "202 1/0/0", ""},
		{"numbers beyond 2^53", array(event(9007199254740992), event(9007199254740993)), nil, "202 2/0/0", ""},
		{"a name twice: the last counts", `{"biz_type":"viewed","biz_id":14,"biz_id":15}`, nil, "202 1/0/0", ""},
		{"no coding", event(16), []string{"Content-Encoding", "identity"}, "202 1/0/0", ""},
		{"gzip", zipped.String(), []string{"Content-Encoding", "gzip"}, "415 unsupported_media_type", "without Content-Encoding"},
		{"gzip that is not named", zipped.String(), nil, "400 invalid_events", `"reason":"not_utf8"`},
		{"curl's own content type", event(1), []string{"Content-Type", "application/x-www-form-urlencoded"}, "415 unsupported_media_type", "application/json"},
		{"bad UTF-8 in the second line", event(1) + "\n{\"biz_type\":\"viewed\",\"biz_id\":\"\xff\"}", lines, "400 invalid_events", `"index":1,"field":"","reason":"not_utf8"`},
		{"bad UTF-8 in an array", array(event(1), "{\"biz_type\":\"\xc3\x28\",\"biz_id\":1}"), nil, "400 invalid_events", `"index":1,"field":"","reason":"not_utf8"`},
		{"nested too deep", nested(101), nil, "400 invalid_events", `"reason":"too_deep"`},
		{"brackets without end", strings.Repeat("[", 1<<20), nil, "400 bad_request", "no JSON array of events from byte"},
		{"braces without end", strings.Repeat(`{"a":`, 1<<17), nil, "400 invalid_events", `"reason":"too_deep"`},
		{"an array in lines", array(event(1)) + "\n", lines, "400 invalid_events", `"reason":"not_object"`},
		{"lines called JSON", event(1) + "\n" + event(2), nil, "400 invalid_events", `"reason":"not_json"`},
		{"an array that is cut", `[` + event(1) + `,`, nil, "400 bad_request", "no JSON array of events from byte"},
		{"something behind an array", array(event(1)) + "x", nil, "400 bad_request", fmt.Sprint("from byte ", len(array(event(1))))},
		{"a second array", array(event(1)) + array(event(2)), nil, "400 bad_request", "from byte"},
		{"commas alone", "[,]", nil, "400 bad_request", "from byte 1 on"},
		{"more than may be, none of them an event", "[" + strings.Repeat("1,", 1<<19) + "1]", nil, "413 too_large", "at most 200 events"},
		{"more lines than may be", strings.Repeat("1\n", 1<<19), lines, "413 too_large", "at most 200 events"},
		{"an exponent", `{"biz_type":"viewed","biz_id":1e3}`, nil, "400 invalid_events", `"field":"biz_id","reason":"wrong_value"`},
		{"another case", `{"BIZ_TYPE":"viewed","biz_id":1}`, nil, "400 invalid_events", `"field":"biz_type","reason":"missing_field"`},
		{"NaN", `{"biz_type":"viewed","biz_id":1,"params":{"x":NaN}}`, nil, "400 invalid_events", `"reason":"not_json"`},
	}
	for _, tt := range tests {
		got := w.post(t, tt.body, tt.headers...)
		if got.says() != tt.says || !strings.Contains(got.text, tt.tells) {
			t.Errorf("%s: %.500s", tt.name, got.text)
		}
		if tt.name == "gzip" && got.Header.Get("Accept-Encoding") != "identity" {
			t.Error("gzip: it does not say which coding it takes")
		}
	}
	if got := w.topic.ids(); got != "10 11 12 13 9007199254740992 9007199254740993 15 16" {
		t.Errorf("written: %s", got)
	}
}

func TestMethodsThatAPathDoesNotHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	for _, tt := range []struct {
		method, path, allow string
		status              int
	}{
		{"OPTIONS", "/v1/events", "POST, OPTIONS", 204}, {"HEAD", "/v1/events", "POST, OPTIONS", 405},
		{"PATCH", "/v1/tokens", "POST, OPTIONS", 405}, {"HEAD", "/docs", "", 200}, {"DELETE", "/docs", "GET, HEAD, OPTIONS", 405},
		{"OPTIONS", "/v1/openapi.json", "GET, HEAD, OPTIONS", 204},
	} {
		got := w.ask(t, tt.method, tt.path, "")
		if got.StatusCode != tt.status || got.Header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: %d, Allow %q", tt.method, tt.path, got.StatusCode, got.Header.Get("Allow"))
		}
	}
}

// raw sends a request as it stands, closes this side if told to, and reads the answer: its status and code.
func (w *world) raw(t *testing.T, server *httptest.Server, text string, closes bool) string {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text = strings.ReplaceAll(text, "\n", "\r\n")
	if _, err := io.WriteString(conn, strings.Replace(text, "HEADERS", "Host: x\r\nAuthorization: Bearer "+w.secret, 1)); err != nil {
		t.Fatal(err)
	}
	if closes {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	var p problem
	_ = json.NewDecoder(res.Body).Decode(&p)
	return strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", p.Code))
}

// TestBodiesThatDoNotArrive: cut, broken or too slow, the producer that still listens is told so, and its key is open.
func TestBodiesThatDoNotArrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	mux := http.NewServeMux()
	w.gateway.Hang(mux)
	hasty := httptest.NewUnstartedServer(mux)
	hasty.Config.ReadTimeout = 300 * time.Millisecond
	hasty.Start()
	t.Cleanup(hasty.Close)
	const key = "Idempotency-Key: k"
	for _, named := range []string{key, "X-Other: x"} {
		head := "POST /v1/events HTTP/1.1\nHEADERS\n" + named + "\n"
		for _, tt := range []struct {
			name, text string
			server     *httptest.Server
			closes     bool
			want       string
		}{
			{"cut", head + "Content-Length: 100\n\n{", w.Server, true, "400 incomplete_body"},
			{"cut between chunks", head + "Transfer-Encoding: chunked\n\n1\n{\n", w.Server, true, "400 incomplete_body"},
			{"a broken chunk", head + "Transfer-Encoding: chunked\n\nzz\n{\n", w.Server, false, "400 incomplete_body"},
			{"slow", head + "Content-Length: 100\n\n{", hasty, false, "408 request_timeout"},
			{"slow chunks", head + "Transfer-Encoding: chunked\n\n1\n{\n", hasty, false, "408 request_timeout"},
			{"too large, and not sent", head + "Expect: 100-continue\nContent-Length: 99999999\n\n", w.Server, false, "413 too_large"},
			{"not understood, and not sent", head + "Expect: 100-continue\nContent-Type: text/csv\nContent-Length: 9\n\n", w.Server, false, "415 unsupported_media_type"},
			{"chunks", head + "Transfer-Encoding: chunked\n\n1\n{\n1\n}\n0\n\n", w.Server, false, "400 invalid_events"},
		} {
			if got := w.raw(t, tt.server, tt.text, tt.closes); got != tt.want {
				t.Errorf("%s, %s: %s", tt.name, named, got)
			}
		}
	}
	if got := w.post(t, event(1), dedup.HeaderKey, "k"); got.says() != "202 1/0/0" {
		t.Errorf("the key then: %s", got.text)
	}
	if shown := w.log.String(); strings.Contains(shown, "127.0.0.1") {
		t.Errorf("the log has an address: %s", shown)
	}
}

// TestRequestsFindRoomOrAreToldSo: what is in hand is bounded in bytes; a request that finds no room is told so before
// its body is read, and a small one beside it goes through.
func TestRequestsFindRoomOrAreToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), func(c *Config) { c.InHand, c.Timeout = c.MaxBody, time.Minute })
	large := event(1) + strings.Repeat(" ", int(w.gateway.cfg.MaxBody)/2)
	entered, hold := make(chan struct{}), make(chan struct{})
	w.topic.holding(entered, hold)
	var first sync.WaitGroup
	first.Go(func() {
		if got := w.post(t, large, dedup.HeaderKey, "first"); got.says() != "202 1/0/0" {
			t.Errorf("the first: %s", got.text)
		}
	})
	<-entered
	w.topic.holding(nil, nil)
	if got := w.post(t, large, dedup.HeaderKey, "second"); got.says() != "503 overloaded" || got.Header.Get("Retry-After") == "" {
		t.Errorf("no room: %s", got.text)
	}
	if got := w.raw(t, w.Server, "POST /v1/events HTTP/1.1\nHEADERS\nTransfer-Encoding: chunked\nExpect: 100-continue\n\n", false); got != "503 overloaded" {
		t.Errorf("no length: %s", got)
	}
	if got := w.post(t, event(2)); got.says() != "202 1/0/0" {
		t.Errorf("a small one: %s", got.text)
	}
	close(hold)
	first.Wait()
	if got := w.post(t, large, dedup.HeaderKey, "second"); got.says() != "202 1/0/0" {
		t.Errorf("then: %s", got.text)
	}
}

// TestABodyWithoutLengthAndHTTP2: what other clients speak.
func TestABodyWithoutLengthAndHTTP2(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	mux := http.NewServeMux()
	w.gateway.Hang(mux)
	two := httptest.NewUnstartedServer(mux)
	two.EnableHTTP2 = true
	two.StartTLS()
	t.Cleanup(two.Close)
	for i, server := range []*httptest.Server{w.Server, two} {
		body := io.MultiReader(strings.NewReader(event(i)[:10]), strings.NewReader(event(i)[10:])) // no length
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/events", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+w.secret)
		res, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusAccepted || res.ProtoMajor != 1+i {
			t.Errorf("%s: %d", res.Proto, res.StatusCode)
		}
	}
	if ids := strings.Fields(w.topic.ids()); !slices.Equal(ids, []string{"0", "1"}) {
		t.Errorf("written: %v", ids)
	}
}

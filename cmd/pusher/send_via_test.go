package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// till is a gateway as `pusher send --via` sees it: it takes each key once, after it has failed as often as it is told.
type till struct {
	*httptest.Server

	mu    sync.Mutex
	fails int            // guarded by mu; requests that are still answered with 503
	taken map[string]int // guarded by mu; events by key
	most  int            // guarded by mu; batches that it takes; further ones are refused
}

func newTill(t *testing.T, fails, most int) *till {
	t.Helper()
	s := &till{fails: fails, most: most, taken: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.answer(w, r.Header.Get("Idempotency-Key"), body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *till) answer(w http.ResponseWriter, key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var events []json.RawMessage
	_ = json.Unmarshal(body, &events)
	_, known := s.taken[key]
	switch {
	case s.fails > 0:
		s.fails--
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"kafka_away"}`)
		return
	case known:
		w.Header().Set("Idempotency-Replayed", "true")
	case len(s.taken) == s.most:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		_, _ = io.WriteString(w, `{"code":"too_large","title":"The request is too large"}`)
		return
	}
	s.taken[key] = len(events)
	w.WriteHeader(http.StatusAccepted)
	_, _ = fmt.Fprintf(w, `{"id":"x","accepted":%d}`, len(events))
}

// counted is how many events and batches it took.
func (s *till) counted() (events, batches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.taken {
		events += n
	}
	return events, len(s.taken)
}

// sendVia sends so many events through the gateway at url.
func sendVia(t *testing.T, url string, events int, args ...string) ended {
	t.Helper()
	away := services{brokers: "127.0.0.1:1", topic: "t", redis: "127.0.0.1:1", db: "0", postgres: "postgres://h/db"}
	credential := filepath.Join(t.TempDir(), "credential")
	if err := os.WriteFile(credential, []byte("pgw_secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var input strings.Builder
	for i := range events {
		input.WriteString(strings.Replace(good, "10248", strconv.Itoa(i), 1) + "\n")
	}
	return execute(t.Context(), input.String(), append([]string{
		"send", "--via", url, "--credential-file", credential, "--config", away.config(t),
	}, args...)...)
}

func TestSendViaAGatewayTakesEachBatchOnceHoweverOftenItIsSent(t *testing.T) {
	t.Parallel()
	s := newTill(t, 1, 9)
	got := sendVia(t, s.URL, 1200)
	if got.code != 0 || got.stdout != "1200 events accepted by "+s.URL+"\n" {
		t.Fatalf("got %+v", got)
	}
	if want := "try 1: the gateway answered 503 kafka_away; the same again in 1s"; got.stderr != want+"\n" {
		t.Errorf("said %q", got.stderr)
	}
	again := sendVia(t, s.URL, 1200)
	if again.code != 0 || !strings.HasSuffix(again.stdout, " (1200 of them already by an earlier try)\n") {
		t.Errorf("got %+v", again)
	}
	if events, batches := s.counted(); events != 1200 || batches != 3 {
		t.Errorf("took %d events in %d batches", events, batches)
	}
}

func TestSendViaAGatewayThatIsAwayEndsInItsTimeAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newTill(t, 0, 9)
	s.Close()
	got := sendVia(t, s.URL, 700, "--timeout", "2500ms")
	lines := got.complaints()
	if got.code != 1 || got.stdout != "" || len(lines) < 2 {
		t.Fatalf("got %+v", got)
	}
	for _, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "try ") || !strings.Contains(line, "refused") || !strings.HasSuffix(line, "; the same again in 1s") {
			t.Errorf("said %q", line)
		}
	}
	last := lines[len(lines)-1]
	for _, want := range []string{
		"0 of 700 events accepted, of the next 500 it is not known, the last 200 were not sent", "safe to send the same again", "refused",
	} {
		if !strings.Contains(last, want) {
			t.Errorf("ends with %q, want %q", last, want)
		}
	}
	if strings.Contains(got.stderr, "pgw_") {
		t.Error("the credential is shown")
	}
}

func TestSendViaAGatewayThatRefusesSaysWhatWasTaken(t *testing.T) {
	t.Parallel()
	s := newTill(t, 0, 1)
	got := sendVia(t, s.URL, 700)
	if got.code != 1 || !strings.Contains(got.stderr, "500 of 700 events accepted, none of the others") || !strings.Contains(got.stderr, "413 too_large") {
		t.Errorf("got %+v", got)
	}
}

func TestSendViaIsToldWhatItCannotWorkWith(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url, says string
		args      []string
	}{
		"no address":    {"gateway", "http://127.0.0.1:8081", nil},
		"another door":  {"ftp://h/", "http://127.0.0.1:8081", nil},
		"no time":       {"http://h", "--timeout", []string{"--timeout", "0s"}},
		"no credential": {"http://h", "--credential-file", []string{"--credential-file", ""}},
	} {
		if got := sendVia(t, c.url, 1, c.args...); got.code != 2 || !strings.Contains(got.stderr, c.says) || got.stdout != "" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

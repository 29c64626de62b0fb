package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/dedup"
)

// script is a gateway that answers by the book, step by step; the last step is said for ever.
type script struct {
	*httptest.Server

	mu    sync.Mutex
	steps []http.HandlerFunc // guarded by mu
	asked []string           // guarded by mu; key and body of each request
}

func newScript(t *testing.T, steps ...http.HandlerFunc) *script {
	t.Helper()
	s := &script{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked = append(s.asked, strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get(dedup.HeaderKey), string(body),
		}, " "))
		step := s.steps[0]
		if len(s.steps) > 1 {
			s.steps = s.steps[1:]
		}
		s.mu.Unlock()
		step(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func taken(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusAccepted, typeJSON, answer{ID: "a", Accepted: 2})
}

func takenBefore(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(dedup.HeaderReplayed, "true")
	taken(w, r)
}

// cut ends the connection without an answer.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// says answers with a problem; after is its Retry-After, if it has one.
func says(code, after string, faults ...refusal) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		k := kindOf(code)
		writeJSON(w, k.Status, "application/problem+json", problem{Title: k.Title, Status: k.Status, Code: code, Errors: faults})
	}
}

func TestAClientAsksTheSameAgainUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	stranger := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }
	unread := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }
	for name, c := range map[string]struct {
		steps    []http.HandlerFunc
		tries    int
		replayed bool
	}{
		"at once":                      {[]http.HandlerFunc{taken}, 1, false},
		"answered before":              {[]http.HandlerFunc{takenBefore}, 1, true},
		"in progress":                  {[]http.HandlerFunc{says(codeBusy, "1"), takenBefore}, 2, true},
		"kafka away":                   {[]http.HandlerFunc{says(codeKafkaAway, "2"), says(codeUnknown, "2"), taken}, 3, false},
		"too many":                     {[]http.HandlerFunc{says(codeRate, "1"), taken}, 2, false},
		"cut after it was taken":       {[]http.HandlerFunc{cut, takenBefore}, 2, true},
		"a proxy's page":               {[]http.HandlerFunc{stranger, taken}, 2, false},
		"an answer lost on its way":    {[]http.HandlerFunc{unread, takenBefore}, 2, true},
		"a mistake of the gateway's":   {[]http.HandlerFunc{says(codeInternal, ""), taken}, 2, false},
		"redis away, without a number": {[]http.HandlerFunc{says(codeRedisAway, "soon"), taken}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, c.steps...)
			var told int
			client := &Client{
				URL: s.URL + "/", Credential: "c", HTTP: s.Client(), Wait: time.Millisecond,
				Failed: func(tries int, _ time.Duration, err error) {
					if told++; tries != told || err == nil {
						t.Errorf("told of try %d as number %d: %v", tries, told, err)
					}
				},
			}
			got, err := client.Send(t.Context(), [][]byte{[]byte(`{"a":1}`), []byte(`{"b":2}`)}, "")
			if err != nil || got != (Receipt{ID: "a", Accepted: 2, Replayed: c.replayed, Tries: c.tries}) || told != c.tries-1 {
				t.Fatalf("got %+v, %v, told %d times", got, err, told)
			}
			for _, asked := range s.asked {
				if asked != s.asked[0] || !strings.HasPrefix(asked, `POST /v1/events Bearer c "`) || !strings.HasSuffix(asked, `" [{"a":1},{"b":2}]`) {
					t.Errorf("asked %q", asked)
				}
			}
		})
	}
}

func TestAClientWaitsAsLongAsTheGatewayNames(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]time.Duration{"1": time.Second, "7": 7 * time.Second, "": time.Second, "soon": time.Second} {
		s := newScript(t, says(codeBusy, after))
		ctx, cancel := context.WithCancel(t.Context())
		waits := time.Duration(0)
		client := &Client{URL: s.URL, HTTP: s.Client(), Failed: func(_ int, wait time.Duration, _ error) {
			waits = wait
			cancel()
		}}
		if _, err := client.Send(ctx, [][]byte{[]byte(`{}`)}, "k"); err == nil || waits != want {
			t.Errorf("Retry-After %q: waits %v, %v", after, waits, err)
		}
	}
}

func TestAClientDoesNotAskAgainWhenItIsRefused(t *testing.T) {
	t.Parallel()
	for code, says := range map[string]http.HandlerFunc{
		codeKeyReused: says(codeKeyReused, ""), codeSpent: says(codeSpent, ""), codeNobody: says(codeNobody, ""),
		codeInvalid:  says(codeInvalid, "", refusal{3, "biz_id", "missing_field", "is wanted"}),
		codeTooLarge: says(codeTooLarge, ""),
	} {
		s := newScript(t, says)
		got, err := (&Client{URL: s.URL, HTTP: s.Client()}).Send(t.Context(), [][]byte{[]byte(`{}`)}, "k")
		refused, ok := errors.AsType[*RefusedError](err)
		if !ok || refused.Code != code || refused.Status != kindOf(code).Status || got.Tries != 1 {
			t.Errorf("%s: %+v, %v", code, got, err)
		}
		if code == codeInvalid && !strings.Contains(err.Error(), "event 3: biz_id: missing_field: is wanted") {
			t.Errorf("it hides the fault: %v", err)
		}
	}
}

// TestAClientGivesUpInItsTime: and says what went wrong, not that time is up.
func TestAClientGivesUpInItsTime(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	silent := newScript(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, c := range map[string]struct{ url, says string }{
		"unreachable":       {gone.URL, "refused"},
		"always cut":        {newScript(t, cut).URL, "EOF"},
		"always away":       {newScript(t, says(codeKafkaAway, "")).URL, "503 kafka_away"},
		"never answers":     {silent.URL, context.DeadlineExceeded.Error()},
		"waits longer":      {newScript(t, says(codeBusy, "3600")).URL, "409 in_progress"},
		"cut, then nothing": {newScript(t, says(codeKafkaAway, ""), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }).URL, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := &Client{URL: c.url, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Wait: 20 * time.Millisecond}
			if name == "waits longer" {
				client.Wait = 0
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			got, err := client.Send(ctx, [][]byte{[]byte(`{}`)}, "k")
			end, ok := errors.AsType[*UnansweredError](err)
			if !ok || end.Tries != got.Tries || end.URL != c.url || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestTheKeyOfEventsIsThatOfTheseEventsOnly(t *testing.T) {
	t.Parallel()
	of := func(events ...string) string {
		list := make([][]byte, len(events))
		for i, e := range events {
			list[i] = []byte(e)
		}
		return KeyOf(list)
	}
	want := of("a", "b")
	if of("a", "b") != want {
		t.Error("the same events have two keys")
	}
	for _, other := range [][]string{{"ab"}, {"b", "a"}, {"a"}, {"a", "b", ""}, nil} {
		if of(other...) == want {
			t.Errorf("%q have the key of others", other)
		}
	}
	if _, err := dedup.IdempotencyKey(http.Header{dedup.HeaderKey: {`"` + of("a") + `"`}}); err != nil {
		t.Error(err)
	}
}

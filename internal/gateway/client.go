package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"pusher/internal/dedup"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 8 << 20

// Client is a producer: it asks until it has an answer, each time with the same key, so that nothing is accepted twice.
// It is safe for concurrent use.
type Client struct {
	URL        string // of the gateway, such as http://127.0.0.1:8081
	Credential string
	HTTP       *http.Client
	Wait       time.Duration // between two tries; 0: what the gateway names, else one second

	// Failed is told of each try that is to be followed by another, and how long it waits; nil: nobody listens.
	Failed func(tries int, wait time.Duration, err error)
}

// Receipt is what the gateway answered.
type Receipt struct {
	ID       string
	Accepted int
	Repeated int
	Replayed bool // given before: an earlier try had got through
	Tries    int
}

// RefusedError is an answer that asking again does not change.
type RefusedError struct {
	Status int
	Code   string
	Text   string // title, detail and the first faults; nothing that an event said
}

// Error says what the gateway said.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the gateway answered %d %s: %s", e.Status, e.Code, e.Text)
}

// UnansweredError is the end of a client's patience. Whether the events were accepted is not known: a try may have got
// through. Asking again with the same key and events is safe.
type UnansweredError struct {
	URL   string
	Tries int
	Err   error // why the last try that came to something failed
}

// Error says how often it was tried, and what went wrong.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("no answer from %s, tried %d times: %v", e.URL, e.Tries, e.Err)
}

// Unwrap is the last failure.
func (e *UnansweredError) Unwrap() error { return e.Err }

// KeyOf is a key made of the events, so that whoever sends the same ones again, in another process too, asks for the
// same.
func KeyOf(events [][]byte) string {
	parts := make([]string, len(events))
	for i, e := range events {
		parts[i] = string(e)
	}
	return identify(parts...)
}

// Send has the events accepted, all or none, and returns once they are, or the gateway refuses them (*RefusedError), or
// ctx ends, or would end before the next try (*UnansweredError). key names this very sending; empty: a new one.
func (c *Client) Send(ctx context.Context, events [][]byte, key string) (Receipt, error) {
	if key == "" {
		key = uuid.NewString()
	}
	body := append(append([]byte{'['}, bytes.Join(events, []byte{','})...), ']')
	var last error
	for tries := 1; ; tries++ {
		receipt, wait, err := c.ask(ctx, body, key)
		receipt.Tries = tries
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused {
			return receipt, err
		}
		if last == nil || ctx.Err() == nil {
			last = err // else it says only that time is up
		}
		if until, limited := ctx.Deadline(); ctx.Err() != nil || limited && time.Until(until) < wait {
			return receipt, &UnansweredError{c.URL, tries, last}
		}
		if c.Failed != nil {
			c.Failed(tries, wait, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return receipt, &UnansweredError{c.URL, tries, last}
		case <-timer.C:
		}
	}
}

// ask asks once. wait is how long to wait before the next try, where one helps.
func (c *Client) ask(ctx context.Context, body []byte, key string) (receipt Receipt, wait time.Duration, err error) {
	wait = c.Wait
	if wait <= 0 {
		wait = time.Second
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.URL, "/")+"/v1/events", bytes.NewReader(body))
	if err != nil {
		return receipt, wait, err
	}
	r.Header.Set("Content-Type", typeJSON)
	r.Header.Set("Authorization", "Bearer "+c.Credential)
	r.Header.Set(dedup.HeaderKey, `"`+key+`"`)
	res, err := c.HTTP.Do(r)
	if err != nil {
		return receipt, wait, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return receipt, wait, err
	}
	if res.StatusCode == http.StatusAccepted {
		var a answer
		err := json.Unmarshal(text, &a)
		replayed := res.Header.Get(dedup.HeaderReplayed) != ""
		return Receipt{ID: a.ID, Accepted: a.Accepted, Repeated: a.Repeated, Replayed: replayed}, wait, err
	}
	if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil && c.Wait == 0 {
		wait = time.Duration(seconds) * time.Second
	}
	return receipt, wait, refusedBy(res, text)
}

// refusedBy is what an answer that is none of success says. One that may change is no *RefusedError.
func refusedBy(res *http.Response, text []byte) error {
	var p problem
	_ = json.Unmarshal(text, &p) // another server's words, perhaps
	again := p.Code == codeBusy || p.Code == codeCut || res.StatusCode == http.StatusRequestTimeout
	if again || res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the gateway answered %d %s", res.StatusCode, p.Code)
	}
	said := []string{strings.TrimSpace(p.Title + " " + p.Detail)}
	for _, f := range p.Errors[:min(3, len(p.Errors))] {
		said = append(said, fmt.Sprintf("event %d: %s: %s: %s", f.Index, f.Field, f.Reason, f.Detail))
	}
	return &RefusedError{Status: res.StatusCode, Code: p.Code, Text: strings.Join(said, "; ")}
}

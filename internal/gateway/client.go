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
	Wait       time.Duration // between two tries, unless the gateway names another; 0: one second
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

// Send has the events accepted, all or none, and returns once they are, or ctx ends, or the gateway refuses them
// (*RefusedError). key names this very sending; empty: a new one.
func (c *Client) Send(ctx context.Context, events [][]byte, key string) (Receipt, error) {
	if key == "" {
		key = uuid.NewString()
	}
	body := append(append([]byte{'['}, bytes.Join(events, []byte{','})...), ']')
	for tries := 1; ; tries++ {
		receipt, wait, err := c.ask(ctx, body, key)
		receipt.Tries = tries
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused {
			return receipt, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return receipt, fmt.Errorf("sending to %s, tried %d times: %w", c.URL, tries, err)
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
	if p.Code == codeBusy || res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the gateway answered %d %s", res.StatusCode, p.Code)
	}
	said := []string{strings.TrimSpace(p.Title + " " + p.Detail)}
	for _, f := range p.Errors[:min(3, len(p.Errors))] {
		said = append(said, fmt.Sprintf("event %d: %s: %s: %s", f.Index, f.Field, f.Reason, f.Detail))
	}
	return &RefusedError{Status: res.StatusCode, Code: p.Code, Text: strings.Join(said, "; ")}
}

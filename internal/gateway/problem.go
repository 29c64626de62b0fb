package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"pusher/internal/dedup"
)

// The codes of problems: the last part of a problem's type, and what programs may rely on.
const (
	codeBadRequest  = "bad_request"
	codeInvalid     = "invalid_events"
	codeBadKey      = "invalid_key"
	codeNobody      = "unauthorized"
	codeForged      = "token_forged"
	codeNotFound    = "not_found"
	codeMethod      = "method_not_allowed"
	codeBusy        = "in_progress"
	codeSpent       = "token_spent"
	codeExpired     = "token_expired"
	codeTooLarge    = "too_large"
	codeMediaType   = "unsupported_media_type"
	codeKeyReused   = "key_reused"
	codeRate        = "rate_limited"
	codeInternal    = "internal"
	codeFull        = "overloaded"
	codeRedisAway   = "redis_away"
	codeKafkaAway   = "kafka_away"
	codeUnknown     = "outcome_unknown"
	codeCut         = "incomplete_body"
	codeSlow        = "request_timeout"
	problemTypeBase = "/docs#"
)

// kind is what a code always says.
type kind struct {
	Code   string
	Status int
	Title  string
	Advice string // how to mend it: the detail, where there is none of its own
}

// kinds lists every problem there is, in the order of their statuses.
func kinds() []kind {
	return []kind{
		{codeBadRequest, http.StatusBadRequest, "The request cannot be read", "Mend it as the detail says."},
		{codeInvalid, http.StatusBadRequest, "Some events are not valid; nothing is written", "Each fault is listed with its field and reason. Mend the events, or ask for ?partial=true."},
		{codeBadKey, http.StatusBadRequest, "The Idempotency-Key is none", "Send one string of 1 to 255 visible ASCII characters, in quotes."},
		{codeCut, http.StatusBadRequest, "The body did not arrive whole", "Send it again with the same key: nothing is written."},
		{codeNobody, http.StatusUnauthorized, "No credential, or an unknown one", "Send Authorization: Bearer with the producer's credential."},
		{codeForged, http.StatusForbidden, "The token is not ours", "Get one from POST /v1/tokens, with the credential that the events come with."},
		{codeNotFound, http.StatusNotFound, "There is nothing here", "Events go to POST /v1/events; the page at /docs has the rest."},
		{codeMethod, http.StatusMethodNotAllowed, "The method is not allowed here", "Use one that the Allow header names."},
		{codeSlow, http.StatusRequestTimeout, "The body did not arrive in time", "Send it again with the same key, smaller or faster: nothing is written."},
		{codeBusy, http.StatusConflict, "The same request is in progress", "Ask again after Retry-After seconds: the answer will be there."},
		{codeSpent, http.StatusConflict, "The token is used, or no longer known", "Get a new one and send the events again: what was accepted is not sent twice."},
		{codeExpired, http.StatusGone, "The token has expired", "Get a new one."},
		{codeTooLarge, http.StatusRequestEntityTooLarge, "The request is too large", "Send fewer events at once; an event has at most 1 MiB."},
		{codeMediaType, http.StatusUnsupportedMediaType, "The content type is not understood", "Send application/json, application/x-ndjson, application/cloudevents+json or application/cloudevents-batch+json, without Content-Encoding."},
		{codeKeyReused, http.StatusUnprocessableEntity, "The key belongs to another payload", "Use a new Idempotency-Key or token for a new payload."},
		{codeRate, http.StatusTooManyRequests, "Too many events", "Slow down; ask again after Retry-After seconds."},
		{codeInternal, http.StatusInternalServerError, "A mistake of ours", "Ask again with the same key; tell us the request_id."},
		{codeFull, http.StatusServiceUnavailable, "Too much is in hand at the moment; nothing is written", "Ask again with the same key after Retry-After seconds; smaller requests find room sooner."},
		{codeRedisAway, http.StatusServiceUnavailable, "Duplicates cannot be told at the moment; nothing is written", "Ask again with the same key."},
		{codeKafkaAway, http.StatusServiceUnavailable, "Events cannot be written at the moment; nothing is written", "Ask again with the same key."},
		{codeUnknown, http.StatusServiceUnavailable, "The events may have been written", "Ask again with the same key and payload: what was written is not sent twice."},
	}
}

// kindOf finds a code's kind.
func kindOf(code string) kind {
	for _, k := range kinds() {
		if k.Code == code {
			return k
		}
	}
	return kind{Status: http.StatusInternalServerError}
}

// failure is a request that is not accepted.
type failure struct {
	code   string
	detail string
	faults []refusal     // of events
	retry  time.Duration // 0: coming again does not help
	err    error         // for the log; nil where the producer is at fault
}

// Error is what the log says.
func (f *failure) Error() string {
	if f.err == nil {
		return f.code
	}
	return f.code + ": " + f.err.Error()
}

// Unwrap is the cause.
func (f *failure) Unwrap() error { return f.err }

// problem is the body of every answer that is no success (RFC 9457).
type problem struct {
	Type      string    `json:"type"`
	Title     string    `json:"title"`
	Status    int       `json:"status"`
	Detail    string    `json:"detail,omitempty"`
	Code      string    `json:"code"`
	RequestID string    `json:"request_id"`
	Errors    []refusal `json:"errors,omitempty"`
}

// fail answers with a problem. What is no failure of ours is a mistake.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{code: codeInternal, err: err}
	}
	t := trailOf(r)
	t.err = f.err
	k := kindOf(f.code)
	detail := f.detail
	if detail == "" {
		detail = k.Advice
	}
	if f.retry > 0 {
		w.Header().Set("Retry-After", dedup.Seconds(f.retry))
	}
	if f.code == codeNobody {
		w.Header().Set("WWW-Authenticate", `Bearer realm="pusher"`)
	}
	writeJSON(w, k.Status, "application/problem+json", problem{
		Type: problemTypeBase + k.Code, Title: k.Title, Status: k.Status, Detail: detail, Code: k.Code,
		RequestID: t.id, Errors: f.faults,
	})
}

// writeJSON answers with one JSON value that no proxy may keep and no browser makes more of.
func writeJSON(w http.ResponseWriter, status int, contentType string, body any) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone: it asks again
}

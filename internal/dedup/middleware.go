package dedup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"
)

// MiddlewareConfig says how requests with an Idempotency-Key are answered.
type MiddlewareConfig struct {
	Name      string // as a guard's
	Window    time.Duration
	Lease     time.Duration
	MaxBody   int64                                           // bytes of a request
	MaxAnswer int                                             // bytes of a response; of a larger one only its status is replayed
	Scope     func(*http.Request) string                      // whose keys they are, such as the caller; nil: all are one caller's
	Required  bool                                            // a request without a key is refused
	PassDown  bool                                            // while Redis is away requests go through without protection; else 503
	Verdict   func(status int) Outcome                        // Done, Refused, GivenBack or Unknown; nil: VerdictOf
	Fail      func(http.ResponseWriter, *http.Request, Fault) // writes the answer to a request that is not let through
	Observe   func(Outcome)

	OpenUnknown bool // as a guard's
}

// Fault is a request that is not let through to its handler.
type Fault struct {
	Status     int           // 400, 409, 413, 422 or 503
	Err        error         // why: of this package, or of reading the body
	RetryAfter time.Duration // 0: coming again does not help
}

// exchange is one request with its body read.
type exchange struct {
	*http.Request

	key  string
	body []byte
}

// response is what is kept of an answer.
type response struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// VerdictOf is what a status says of a request: below 400 it was done, 4xx is a business refusal, 504 an outcome that is
// not known, and the other 5xx left nothing behind.
func VerdictOf(status int) Outcome {
	switch {
	case status < http.StatusBadRequest:
		return Done
	case status < http.StatusInternalServerError:
		return Refused
	case status == http.StatusGatewayTimeout:
		return Unknown
	}
	return GivenBack
}

// errStatus is what a handler's answer came to, for the guard.
var errStatus = errors.New("answered with an error status")

// doubtKey is where a request's own word on its outcome is kept.
type doubtKey struct{}

// InDoubt says that the outcome of the request is not known, whatever its status will be. Without a guard around it, it
// does nothing.
func InDoubt(ctx context.Context) {
	if doubt, ok := ctx.Value(doubtKey{}).(*bool); ok {
		*doubt = true
	}
}

// Middleware lets a request with an Idempotency-Key through to next once: the same key again gets the same answer with
// Idempotency-Replayed: true; with another payload (method, path, query or body) it is refused with 422, and with 409
// while the first one is in progress. A request without a key goes through as it is. The answer is held back until the
// key is settled, so that who has an answer always gets the same one again.
func Middleware(client Client, cfg MiddlewareConfig, next http.Handler) (http.Handler, error) {
	if cfg.Scope == nil {
		cfg.Scope = func(*http.Request) string { return "" }
	}
	if cfg.Verdict == nil {
		cfg.Verdict = VerdictOf
	}
	if cfg.Fail == nil {
		cfg.Fail = failPlainly
	}
	guard, err := NewGuard(client, GuardConfig[exchange, response]{
		Name: cfg.Name, Window: cfg.Window, Lease: cfg.Lease, MaxAnswer: cfg.MaxAnswer, OpenUnknown: cfg.OpenUnknown,
		Observe: cfg.Observe, Fingerprint: func(e exchange) (string, error) { return e.fingerprint(), nil },
		Key: func(e exchange) (string, error) {
			sum := sha256.Sum256([]byte(cfg.Scope(e.Request) + "\x00" + e.key)) // neither may be read in Redis
			return hex.EncodeToString(sum[:]), nil
		},
	})
	if err != nil {
		return nil, err
	}
	m := middleware{cfg, guard, next}
	return http.HandlerFunc(m.serve), nil
}

type middleware struct {
	cfg   MiddlewareConfig
	guard *Guard[exchange, response]
	next  http.Handler
}

func (m middleware) serve(w http.ResponseWriter, r *http.Request) {
	key, err := IdempotencyKey(r.Header)
	switch {
	case err != nil || key == "" && m.cfg.Required:
		m.cfg.Fail(w, r, Fault{Status: http.StatusBadRequest, Err: errIdempotencyKey})
		return
	case key == "":
		m.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, m.cfg.MaxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		m.cfg.Fail(w, r, Fault{Status: status, Err: err})
		return
	}
	answer, err := m.guard.Do(r.Context(), exchange{r, key, body}, m.handle)
	var busy *InProgressError
	var again *RepeatedError
	switch {
	case errors.As(err, &again):
		w.Header().Set(HeaderReplayed, "true")
		if !again.Kept {
			answer.Status = http.StatusOK
		}
	case errors.As(err, &busy):
		m.cfg.Fail(w, r, Fault{http.StatusConflict, err, busy.Left})
		return
	case errors.Is(err, ErrMismatch):
		m.cfg.Fail(w, r, Fault{Status: http.StatusUnprocessableEntity, Err: err})
		return
	case errors.Is(err, ErrUnguarded) && m.cfg.PassDown:
		answer, _ = m.handle(r.Context(), exchange{r, key, body})
	case errors.Is(err, ErrUnguarded):
		m.cfg.Fail(w, r, Fault{http.StatusServiceUnavailable, err, time.Second})
		return
	}
	answer.write(w)
}

// handle is the guard's handler: it gives next a recorder and reads the outcome from what it wrote.
func (m middleware) handle(ctx context.Context, e exchange) (response, error) {
	var doubt bool
	r := e.WithContext(context.WithValue(ctx, doubtKey{}, &doubt))
	r.Body = io.NopCloser(bytes.NewReader(e.body))
	rec := &recorder{header: http.Header{}}
	m.next.ServeHTTP(rec, r)
	answer := rec.response()
	outcome := m.cfg.Verdict(answer.Status)
	switch {
	case doubt:
		return answer, Doubt(errStatus)
	case outcome == Done:
		return answer, nil
	}
	return answer, &verdictError{outcome, errStatus}
}

// fingerprint is the payload: what may not change under one key.
func (e exchange) fingerprint() string {
	sum := sha256.New()
	for _, part := range []string{e.Method, e.URL.Path, e.URL.RawQuery, e.Header.Get("Content-Type")} {
		_, _ = io.WriteString(sum, strconv.Itoa(len(part))+":"+part)
	}
	_, _ = sum.Write(e.body)
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// write gives the answer to the client.
func (a response) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // the client is gone: it asks again
}

// recorder is an http.ResponseWriter that keeps what is written.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is what the handler sets.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader keeps the first status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write keeps the body.
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

func (r *recorder) response() response {
	r.WriteHeader(http.StatusOK)
	return response{r.status, r.header, r.body.Bytes()}
}

// failPlainly answers in one line of text.
func failPlainly(w http.ResponseWriter, _ *http.Request, f Fault) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", Seconds(f.RetryAfter))
	}
	http.Error(w, f.Err.Error(), f.Status)
}

// Seconds is d as a Retry-After header has it: whole seconds, rounded up, at least one.
func Seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}

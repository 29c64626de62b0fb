package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// headerRequest carries the id of a request, ours or the producer's own.
const headerRequest = "X-Request-ID"

// maxRequestID bounds a producer's own id; a longer one is replaced.
const maxRequestID = 64

// trail is what the log will say of a request. Nothing of its content is in it.
type trail struct {
	id       string
	producer string // empty: not let in
	events   int
	replayed bool
	err      error // of ours
}

type trailKey struct{}

// trailOf is the request's trail; of a request without door, one that nobody reads.
func trailOf(r *http.Request) *trail {
	if t, ok := r.Context().Value(trailKey{}).(*trail); ok {
		return t
	}
	return &trail{}
}

// errPanic is what the log says of a handler that panicked.
var errPanic = errors.New("the handler panicked")

// door gives a request its id, outlives its connection, and logs and counts its end.
func (g *Gateway) door(route string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := g.cfg.Now()
		t := &trail{id: requestID(r)}
		w.Header().Set(headerRequest, t.id)
		seen := &statusWriter{ResponseWriter: w}
		// A producer that hangs up does not undo what it asked for: it will ask again, and then the answer is there.
		ctx := context.WithValue(context.WithoutCancel(r.Context()), trailKey{}, t)
		defer func() {
			if p := recover(); p != nil {
				t.err = errPanic
				g.cfg.Log.Error().Str("request_id", t.id).Any("panic", p).Msg("a request met a mistake of ours")
				fail(seen, r.WithContext(ctx), &failure{code: codeInternal, err: errPanic})
			}
			g.ended(route, t, seen.status, g.cfg.Now().Sub(began))
		}()
		next(seen, r.WithContext(ctx))
	})
}

// ended writes the access log's line: who, what became of it, how long it took; nothing of what was said.
func (g *Gateway) ended(route string, t *trail, status int, took time.Duration) {
	g.cfg.Meter.Request(route, status, took)
	level := zerolog.InfoLevel
	if status >= http.StatusInternalServerError {
		level = zerolog.WarnLevel
	}
	line := g.cfg.Log.WithLevel(level).Str("request_id", t.id).Str("route", route).Int("http_status", status).
		Int64("took_ms", took.Milliseconds())
	if t.producer != "" {
		line.Str("producer", t.producer)
	}
	if t.events > 0 {
		line.Int("events", t.events).Bool("replayed", t.replayed)
	}
	line.Err(t.err).Msg("request")
}

// requestID is the producer's own id where it is a plain one, else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get(headerRequest)
	if id == "" || len(id) > maxRequestID {
		return uuid.NewString()
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return uuid.NewString()
		}
	}
	return id
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter

	status int
}

// WriteHeader notes the first status.
func (s *statusWriter) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
		s.ResponseWriter.WriteHeader(status)
	}
}

// Write writes, with 200 where nobody said otherwise.
func (s *statusWriter) Write(b []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return s.ResponseWriter.Write(b)
}

// Unwrap gives the server's own, for its deadlines.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"pusher/internal/dedup"
	"pusher/internal/push"
)

// maxTraceState bounds what is passed on of a trace's state, in bytes (W3C Trace Context asks for as many).
const maxTraceState = 512

// request is one request for events, read and checked.
type request struct {
	producer string
	partial  bool
	entries  []entry   // the good ones
	refused  []refusal // the faults of the bad ones
	digest   string    // SHA-256 of the body, hex
}

// entry is one good event.
type entry struct {
	index  int // in the request
	record push.Record
	event  *push.Event
}

// read takes, splits and checks the body. With a bad event in it, it fails unless partial results are asked for.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request) (*request, error) {
	req := &request{producer: trailOf(r).producer, refused: []refusal{}}
	switch partial := r.URL.Query()["partial"]; {
	case len(partial) == 0 || len(partial) == 1 && partial[0] == "false":
	case len(partial) == 1 && partial[0] == "true":
		req.partial = true
	default:
		return nil, &failure{code: codeBadRequest, detail: "partial: true or false is wanted"}
	}
	mediaType, _ := contentType(r.Header.Get("Content-Type"))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.cfg.MaxBody))
	if err != nil {
		return nil, unread(err)
	}
	sum := sha256.Sum256(body)
	req.digest = hex.EncodeToString(sum[:])
	texts, err := split(body, mediaType, g.cfg.MaxBatch)
	switch {
	case err != nil:
		return nil, err
	case len(texts) == 0:
		return nil, &failure{code: codeBadRequest, detail: "no event is in it"}
	case len(texts) > g.cfg.MaxBatch:
		return nil, &failure{code: codeTooLarge, detail: "at most " + strconv.Itoa(g.cfg.MaxBatch) + " events at once are taken"}
	}
	trailOf(r).events = len(texts)
	g.check(req, texts, headers(r, mediaType))
	g.cfg.Meter.Events(req.producer, arrivedInvalid, len(texts)-len(req.entries))
	if len(req.refused) > 0 && !req.partial || len(req.entries) == 0 {
		return nil, &failure{code: codeInvalid, faults: req.refused}
	}
	return req, nil
}

// unread says why a body could not be read.
func unread(err error) error {
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		return &failure{code: codeTooLarge}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{code: codeSlow}
	}
	return &failure{code: codeCut} // the connection broke, or its framing did: perhaps nobody reads this
}

// acceptable looks at what a request for events says of itself, before its body is read: a client that waits for
// 100 Continue then need not send it.
func (g *Gateway) acceptable(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get(HeaderToken) != "" && len(r.Header.Values(dedup.HeaderKey)) > 0 {
		return &failure{code: codeBadRequest, detail: HeaderToken + " and " + dedup.HeaderKey + " are given: keep one of the two"}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, identity) {
		w.Header().Set("Accept-Encoding", identity) // RFC 9110, section 15.5.16
		return &failure{code: codeMediaType}
	}
	if _, ok := contentType(r.Header.Get("Content-Type")); !ok {
		return &failure{code: codeMediaType}
	}
	if r.ContentLength > g.cfg.MaxBody {
		return &failure{code: codeTooLarge}
	}
	return nil
}

// roomWithin is how long a request waits for room, its body unread.
const roomWithin = time.Second

// enter takes room for a request's body, as long as it is in hand: many large ones at once would need more memory than
// there is.
func (g *Gateway) enter(r *http.Request) (leave func(), err error) {
	size := r.ContentLength
	if size < 0 {
		size = g.cfg.MaxBody
	}
	waiting, cancel := context.WithTimeout(r.Context(), roomWithin)
	defer cancel()
	if err := g.room.Acquire(waiting, size); err != nil {
		return nil, &failure{code: codeFull, retry: retrySoon, err: err}
	}
	return func() { g.room.Release(size) }, nil
}

// identity is the one coding of a body that is understood: none.
const identity = "identity"

// check reads each text as the pusher will.
func (g *Gateway) check(req *request, texts [][]byte, shared []push.Header) {
	now := g.cfg.Now()
	req.entries = make([]entry, 0, len(texts))
	for i, text := range texts {
		record := push.Record{Origin: push.Origin{Topic: g.cfg.Topic, Time: now}, Value: text, Headers: shared}
		event, err := push.Admit(record, g.cfg.Rules)
		if err != nil {
			room := g.cfg.MaxBatch - len(req.refused) - (len(texts) - i - 1) // so that an answer that is kept has room for one fault an event
			req.refused = append(req.refused, refuse(i, err, room)...)
			continue
		}
		record.Key = []byte(event.BizID)
		if event.TraceParent == "" {
			record.Headers = without(shared, push.HeaderTraceParent, headerTraceState)
		}
		req.entries = append(req.entries, entry{i, record, event})
	}
}

// headerTraceState goes with traceparent.
const headerTraceState = "tracestate"

// headers are what every record of a request carries: its trace, and what kind of CloudEvent it is.
func headers(r *http.Request, mediaType string) []push.Header {
	var list []push.Header
	if trace := r.Header.Get(push.HeaderTraceParent); trace != "" {
		list = append(list, push.Header{Key: push.HeaderTraceParent, Value: []byte(trace)})
		if state := strings.Join(r.Header.Values("Tracestate"), ","); state != "" && len(state) <= maxTraceState {
			list = append(list, push.Header{Key: headerTraceState, Value: []byte(state)})
		}
	}
	if mediaType == typeCloud || mediaType == typeCloudBatch {
		list = append(list, push.Header{Key: push.HeaderContentType, Value: []byte(typeCloud)})
	}
	return list
}

// without is the headers but those of the names.
func without(list []push.Header, names ...string) []push.Header {
	var kept []push.Header
	for _, h := range list {
		if h.Key != names[0] && h.Key != names[1] {
			kept = append(kept, h)
		}
	}
	return kept
}

// write brings entries to Kafka, within the time for it.
func (g *Gateway) write(ctx context.Context, entries []entry) []error {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	defer cancel()
	records := make([]push.Record, len(entries))
	for i, e := range entries {
		records[i] = e.record
	}
	return g.writer.Each(ctx, records)
}

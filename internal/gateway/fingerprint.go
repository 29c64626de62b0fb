package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pusher/internal/dedup"
	"pusher/internal/push"
)

// printed is one event under its fingerprint.
type printed struct {
	key string // its fingerprint, with the producer's name
	entry
}

// accepted is what is remembered of an event: in which request it was, and how many that one wrote.
type accepted struct {
	ID string `json:"i"`
	N  int    `json:"n"`
}

// fingerprint is what makes an event without token and key the same: the configured fields, with biz_type and actions;
// else, and where it lacks one of them, the whole event, whatever the order of its fields.
func (g *Gateway) fingerprint(producer string, e entry) string {
	if g.cfg.PrintBy != nil {
		rule := g.cfg.Rules[e.event.BizType]
		rule.By = *g.cfg.PrintBy
		if id, err := rule.DedupID(e.event, e.record.Time); err == nil {
			return hashed(producer, e.event.BizType, fmt.Sprint(slices.Sorted(slices.Values(e.event.Actions))), id)
		}
	}
	return hashed(producer, string(canonical(e.record.Value)))
}

func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// canonical is JSON text in one spelling (RFC 8785): names sorted, no space, the shortest form of strings; but numbers as
// written, since one beyond 2^53 would become another. The text is valid; where it repeats a name it stays as it is: of
// such the last counts, so that their order must not be lost.
func canonical(text []byte) []byte {
	one := jsontext.Value(bytes.Clone(bytes.TrimPrefix(text, []byte(byteOrderMark))))
	err := one.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
		jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return text
	}
	return one
}

// byFingerprint accepts those events of a request that are new, each under its own key.
func (g *Gateway) byFingerprint(w http.ResponseWriter, r *http.Request, req *request) {
	b := g.batch(req)
	results := g.prints.DoAll(r.Context(), b.events, func(ctx context.Context, mine []int, results []dedup.Result[accepted]) {
		if err := g.held(req, results); err != nil { // all or nothing
			for _, i := range mine {
				results[i].Err = dedup.NotDone(err)
			}
			return
		}
		b.write(ctx, g, mine, results)
	})
	if g.cfg.PassDown {
		b.unguarded(r.Context(), g, results)
	}
	a, replayed, err := b.answer(req, results)
	if err != nil {
		fail(w, r, g.failed(req, err))
		return
	}
	g.cfg.Meter.Events(req.producer, arrivedAccepted, a.Accepted)
	g.cfg.Meter.Events(req.producer, arrivedRepeated, a.Repeated)
	if replayed { // as it was answered then
		a = b.asBefore(a, results)
	}
	g.accept(w, r, a, replayed)
}

// batch is the events of one request, each fingerprint once.
type batch struct {
	id     string
	events []printed
	again  int // events of the request that repeat an earlier one of it
}

func (g *Gateway) batch(req *request) *batch {
	b := &batch{events: make([]printed, 0, len(req.entries))}
	seen := make(map[string]bool, len(req.entries))
	all := make([]string, 0, len(req.entries))
	for _, e := range req.entries {
		p := g.fingerprint(req.producer, e)
		all = append(all, p)
		if seen[p] {
			b.again++
			continue
		}
		seen[p] = true
		b.events = append(b.events, printed{p, e})
	}
	b.id = identify(append(all, kindPrint)...)
	return b
}

// held says why none of the batch may be written: Redis answers for some events only, or another request has some. With
// partial results the others go on.
func (g *Gateway) held(req *request, results []dedup.Result[accepted]) error {
	for _, r := range results {
		switch {
		case errors.Is(r.Err, dedup.ErrUnguarded) && !g.cfg.PassDown:
			return r.Err
		case errors.Is(r.Err, dedup.ErrInProgress) && !req.partial:
			return r.Err
		}
	}
	return nil
}

// write writes the events at the indexes and sets their results, marked as a guard's handler marks them.
func (b *batch) write(ctx context.Context, g *Gateway, mine []int, results []dedup.Result[accepted]) {
	entries := make([]entry, len(mine))
	for n, i := range mine {
		entries[n] = b.events[i].entry
	}
	for n, err := range g.write(ctx, entries) {
		result := &results[mine[n]]
		switch {
		case err == nil:
			*result = dedup.Result[accepted]{Value: accepted{b.id, len(b.events)}}
		case errors.Is(err, push.ErrUnwritten):
			result.Err = dedup.NotDone(err)
		default:
			result.Err = dedup.Doubt(&failure{code: codeUnknown, retry: retrySoon, err: err})
		}
	}
}

// unguarded writes what could not be claimed, where it is to be let through.
func (b *batch) unguarded(ctx context.Context, g *Gateway, results []dedup.Result[accepted]) {
	var open []int
	for i, r := range results {
		if errors.Is(r.Err, dedup.ErrUnguarded) {
			open = append(open, i)
		}
	}
	if len(open) > 0 {
		b.write(ctx, g, open, results)
	}
}

// answer adds the results up. An error of any event that is no refusal is the request's.
func (b *batch) answer(req *request, results []dedup.Result[accepted]) (a answer, replayed bool, err error) {
	a = answer{ID: b.id, Repeated: b.again, Refused: slices.Clone(req.refused)}
	before := 0
	var unwritten error
	for i, r := range results {
		switch {
		case r.Err == nil:
			a.Accepted++
		case errors.Is(r.Err, dedup.ErrRepeated):
			before++
		case errors.Is(r.Err, push.ErrOversized):
			a.Refused = append(a.Refused, oversized(b.events[i].index))
		case errors.Is(r.Err, dedup.ErrInProgress) && req.partial:
			a.Refused = append(a.Refused, refusal{Index: b.events[i].index, Reason: reasonBusy, Detail: "another request has it"})
		case errors.Is(r.Err, push.ErrUnwritten):
			unwritten = &failure{code: codeKafkaAway, retry: retrySoon, err: r.Err}
		default:
			return a, false, r.Err
		}
	}
	a.Repeated += before
	return a, a.Accepted == 0 && before > 0, none(a, unwritten)
}

// none says why a request is not accepted; nil where it is. Where some partitions are away, the events that are written
// are remembered, and the others open.
func none(a answer, unwritten error) error {
	switch {
	case unwritten != nil && a.Accepted > 0:
		return &failure{code: codeUnknown, retry: retrySoon, err: unwritten}
	case unwritten != nil:
		return unwritten
	case a.Accepted+a.Repeated == 0 && len(a.Refused) > 0 && a.Refused[0].Reason != reasonBusy:
		return &failure{code: codeTooLarge, faults: a.Refused}
	}
	return nil
}

// asBefore is the first answer again, where all events were accepted by this very request.
func (b *batch) asBefore(a answer, results []dedup.Result[accepted]) answer {
	for _, r := range results {
		if r.Value.ID != b.id {
			return a
		}
	}
	a.Accepted = results[0].Value.N
	a.Repeated = b.again
	return a
}

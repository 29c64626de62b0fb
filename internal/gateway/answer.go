package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"

	"pusher/internal/dedup"
	"pusher/internal/push"
)

// answer is the body of 202: all replicas have the events.
type answer struct {
	ID       string    `json:"id"`       // of this very request: the same whenever it is asked again
	Accepted int       `json:"accepted"` // events written
	Repeated int       `json:"repeated"` // events that were accepted before, and are not written again
	Refused  []refusal `json:"refused"`  // with ?partial=true
}

// refusal is one fault of an event that is not accepted; an event has one for each field that is wrong.
type refusal struct {
	Index  int    `json:"index"`  // in the request, from 0
	Field  string `json:"field"`  // path; empty: the event as a whole
	Reason string `json:"reason"` // one of the consumer's own, or in_progress
	Detail string `json:"detail"` // what is wrong and how to mend it; nothing that the event said
}

// The reasons beside those of push.PoisonError.
const (
	reasonNull = "tombstone"
	reasonBusy = "in_progress"
)

// refuse says why an event is none: of its faults as many as there is room for, and one at least.
func refuse(index int, err error, room int) (list []refusal) {
	for _, poison := range push.Faults(err) {
		if len(list) == 0 || len(list) < room {
			list = append(list, refusal{index, poison.Field, poison.Reason, poison.Detail})
		}
	}
	if len(list) == 0 {
		list = []refusal{{Index: index, Reason: reasonNull, Detail: "an event is wanted"}}
	}
	return list
}

// identify makes an answer's id out of what makes the request this very one, so that whoever answers it, and however
// often, gives the same one.
func identify(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = io.WriteString(sum, strconv.Itoa(len(part))+":"+part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// accept answers 202.
func (g *Gateway) accept(w http.ResponseWriter, r *http.Request, a answer, replayed bool) {
	t := trailOf(r)
	if t.replayed = replayed; replayed {
		w.Header().Set(dedup.HeaderReplayed, "true")
	}
	writeJSON(w, http.StatusAccepted, typeJSON, a)
}

// whole writes all events of a request and says what that came to, as a guard's handler does: a failure is marked with
// whether it left something behind.
func (g *Gateway) whole(r *http.Request, req *request, id string) (answer, error) {
	a := answer{ID: id, Refused: req.refused}
	var first error // that is not about one event's size
	written, unwritten := 0, 0
	for i, err := range g.write(r.Context(), req.entries) {
		switch {
		case err == nil:
			written++
		case errors.Is(err, push.ErrOversized):
			a.Refused = append(a.Refused, oversized(req.entries[i].index))
		case errors.Is(err, push.ErrUnwritten):
			unwritten++
			first = err
		default:
			first = err
		}
	}
	a.Accepted = written
	switch {
	case first == nil && written == 0:
		return a, dedup.NotDone(&failure{code: codeTooLarge, faults: a.Refused})
	case first == nil:
		return a, nil
	case written == 0 && unwritten+len(a.Refused)-len(req.refused) == len(req.entries):
		return a, dedup.NotDone(&failure{code: codeKafkaAway, retry: retrySoon, err: first})
	}
	return a, dedup.Doubt(&failure{code: codeUnknown, retry: retrySoon, err: first})
}

// oversized says that the topic takes no event of this size.
func oversized(index int) refusal {
	return refusal{Index: index, Reason: push.ReasonTooLarge, Detail: "over what the topic takes; send a reference instead of the content"}
}

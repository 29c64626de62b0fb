package push

import "errors"

// ErrTombstone says that a record has no value at all (null or empty): it is counted and skipped, not refused.
var ErrTombstone = errors.New("tombstone: the record has no value")

// The reasons for which a record cannot become an event: the push-reason header of its dead letter and a metric's
// label, so the set is small and its words stay.
const (
	ReasonTooLarge       = "too_large"        // the value is over MaxValue
	ReasonNotUTF8        = "not_utf8"         // some byte is no UTF-8
	ReasonNotJSON        = "not_json"         // the text is no JSON
	ReasonNotObject      = "not_object"       // JSON, but no object
	ReasonTooDeep        = "too_deep"         // nested deeper than maxDepth
	ReasonMissingField   = "missing_field"    // a required field, or one that dedup.by names, is absent or empty
	ReasonWrongType      = "wrong_type"       // a field has another JSON type than the contract says
	ReasonWrongValue     = "wrong_value"      // the type is right, the value is not
	ReasonBadText        = "bad_text"         // NUL or a lone surrogate in an id
	ReasonBadCloudEvent  = "bad_cloudevent"   // a CloudEvent whose envelope does not hold
	ReasonUnknownBizType = "unknown_biz_type" // no push of this name is configured
	ReasonRefused        = "refused"          // PostgreSQL refuses the event for its own data
)

// ReasonDead is the push-reason of a delivery given up on; the others are those of a PoisonError.
const ReasonDead = "dead"

// PoisonError says why a record cannot become an event, where, and how to mend it. It never holds a value of the
// event, so it may be logged.
type PoisonError struct {
	Reason string // one of the Reason constants
	Field  string // path of the field, such as "params.job_id"; empty when it is about the whole value
	Detail string // what is wrong and how to mend it
}

// Error says reason, field and detail.
func (p *PoisonError) Error() string {
	if p.Field == "" {
		return p.Reason + ": " + p.Detail
	}
	return p.Reason + ": " + p.Field + ": " + p.Detail
}

// poisons are the faults of one event, one at least; as an error, the first.
type poisons []*PoisonError

// err is the error that Decode answers.
func (p poisons) err() error {
	if len(p) == 1 {
		return p[0]
	}
	return p
}

// Error is the first one's.
func (p poisons) Error() string { return p[0].Error() }

// Unwrap is the first one.
func (p poisons) Unwrap() error { return p[0] }

// Faults lists what an error of Decode or Admit says is wrong with a record, one fault a field and at most twenty; none
// if the error is no *PoisonError.
func Faults(err error) []*PoisonError {
	if all, ok := errors.AsType[poisons](err); ok {
		return all
	}
	if one, ok := errors.AsType[*PoisonError](err); ok {
		return []*PoisonError{one}
	}
	return nil
}

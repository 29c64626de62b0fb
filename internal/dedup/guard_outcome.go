package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What a guarded call may come to without its handler, beside Redis's own errors.
var (
	ErrRepeated   = errors.New("done before")                                  // see RepeatedError
	ErrInProgress = errors.New("in progress elsewhere")                        // see InProgressError
	ErrMismatch   = errors.New("the key belongs to another payload")           // nothing was done
	ErrSpent      = errors.New("not issued, used, expired, or not remembered") // with IssuedOnly; nothing was done
	ErrLost       = errors.New("the key went to another call, or may have")    // the cause that a handler's context ends with
	ErrUnguarded  = errors.New("the key could not be claimed: redis is away")  // see UnguardedError
	errKey        = errors.New("the input has no key")                         // an empty one, or the expression's failure
)

// RepeatedError says that the call was done before. It is ErrRepeated.
type RepeatedError struct {
	Kept bool // the value beside this error is the answer of that call; false: it was too large to be kept
}

// Error says so.
func (e *RepeatedError) Error() string { return ErrRepeated.Error() }

// Unwrap is ErrRepeated.
func (e *RepeatedError) Unwrap() error { return ErrRepeated }

// InProgressError says that another call holds the key. It is ErrInProgress.
type InProgressError struct {
	Unknown bool          // it has ended, and its outcome is not known
	Left    time.Duration // of its lease; it may end sooner
}

// Error says so.
func (e *InProgressError) Error() string {
	if e.Unknown {
		return "the outcome of an earlier call is not known yet"
	}
	return ErrInProgress.Error()
}

// Unwrap is ErrInProgress.
func (e *InProgressError) Unwrap() error { return ErrInProgress }

// UnguardedError says that Redis did not answer a claim, so that nothing was done. It is ErrUnguarded.
type UnguardedError struct{ Err error }

// Error says so, and why.
func (e *UnguardedError) Error() string { return fmt.Sprintf("%v: %v", ErrUnguarded, e.Err) }

// Unwrap is ErrUnguarded, and the cause.
func (e *UnguardedError) Unwrap() []error { return []error{ErrUnguarded, e.Err} }

// verdictError marks a handler's error with what it means for the key.
type verdictError struct {
	Outcome

	err error
}

// Error is the marked error's.
func (e *verdictError) Error() string { return e.err.Error() }

// Unwrap is the marked error.
func (e *verdictError) Unwrap() error { return e.err }

// Refuse marks a business refusal: the handler did its work, and the answer is no. The key is remembered as failed, and
// may be claimed again by the same payload.
func Refuse(err error) error { return &verdictError{Refused, err} }

// Doubt marks an outcome that is not known: what the handler asked for may have happened. The key is neither settled
// nor given back. An error of a context that has ended counts as such by itself.
func Doubt(err error) error { return &verdictError{Unknown, err} }

// NotDone marks an error that certainly left nothing behind: the key is given back, as after any error that says nothing
// else, also where a context has ended.
func NotDone(err error) error { return &verdictError{GivenBack, err} }

// Outcome is what a guarded call came to, for whoever counts.
type Outcome string

// The outcomes.
const (
	Done       Outcome = "done"        // the handler succeeded, and the key says so
	Refused    Outcome = "refused"     // a business refusal: failed, may be claimed again
	GivenBack  Outcome = "given_back"  // an unexpected error or a panic: the key is what it was
	Unknown    Outcome = "unknown"     // in progress until the lease ends, then open to the same payload
	Repeated   Outcome = "repeated"    // done before
	InProgress Outcome = "in_progress" // another call's lease runs
	Mismatch   Outcome = "mismatch"    // the key belongs to another payload
	Spent      Outcome = "spent"       // a one-time key that may not be claimed any more
	Lost       Outcome = "lost"        // the handler ended when the key was another call's
	Unsettled  Outcome = "unsettled"   // the handler ended, and Redis could not be told: the key opens when its lease ends
	Unguarded  Outcome = "unguarded"   // Redis was away
)

// outcomeOf is what a handler's error means for its key.
func outcomeOf(err error) Outcome {
	var marked *verdictError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &marked):
		return marked.Outcome
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Unknown
	}
	return GivenBack
}

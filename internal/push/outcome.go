package push

import (
	"errors"
	"fmt"
	"time"
)

// Class is what a provider's answer means for the delivery (docs/protocol.md, section 5). Each sender classifies
// once; nothing else reads provider codes.
type Class int

// The classes of an outcome. The zero value is Ambiguous: what nobody classified may have been sent.
const (
	Ambiguous Class = iota // the request may have left
	Accepted               // the provider said yes for this very recipient
	NotSent                // proof that nothing left, or a coded refusal that may pass
	Throttled              // this recipient or the channel is over a limit
	Permanent              // this message can never go
	Account                // nothing on this account, signature or template can go until a person acts
)

// String names the class for logs, metrics and the push log's outcome column.
func (c Class) String() string {
	switch c {
	case Accepted:
		return "accepted"
	case NotSent:
		return "not_sent"
	case Throttled:
		return "throttled"
	case Permanent:
		return "permanent"
	case Account:
		return "account"
	case Ambiguous:
		return "ambiguous"
	}
	return "ambiguous"
}

// Scope says whom a failure concerns.
type Scope string

// The scopes of a failure.
const (
	ScopeMessage   Scope = ""          // this message only
	ScopeRecipient Scope = "recipient" // everything to this recipient
	ScopeTemplate  Scope = "template"  // everything with this template or signature
	ScopeChannel   Scope = "channel"   // everything on this channel
	ScopeAccount   Scope = "account"   // everything on this account
)

// ErrNotMade says that a request which had the permission to leave was never made.
var ErrNotMade = errors.New("no request was made")

// Failure is a send that was not accepted, classified once at the edge that met it.
type Failure struct {
	Class   Class
	Scope   Scope
	Code    string        // the provider's own code, or ours in snake_case ("dial", "timeout")
	Message string        // the provider's words, free of phones, openids and secrets
	Wait    time.Duration // not before this long; 0: by backoff
	Unsent  bool          // with NotSent: not one byte of the request left, so it may be tried again at once
	Err     error         // the cause, free of personal data; may be nil
}

// Error says class, code and the provider's words.
func (f *Failure) Error() string {
	if f.Message == "" && f.Err != nil {
		return fmt.Sprintf("%s (%s): %v", f.Class, f.Code, f.Err)
	}
	return fmt.Sprintf("%s (%s): %s", f.Class, f.Code, f.Message)
}

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// FailureOf returns the classified failure in err; an error that nobody classified is ambiguous, the safe reading.
func FailureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Class: Ambiguous, Code: "unclassified", Err: err}
}

// UsesRetry reports whether an outcome of this class counts against retry.max_attempts: throttling and account
// stops do not.
func (c Class) UsesRetry() bool { return c != Throttled && c != Account }

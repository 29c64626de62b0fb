package push

import "time"

// KeyState is what a dedup key in Redis says; the numbers are those on the wire (docs/protocol.md, section 2).
type KeyState int

// The states of a dedup key.
const (
	KeyAbsent     KeyState = -1 // no key: never claimed, released, or forgotten by Redis
	KeyProcessing KeyState = 0
	KeySuccess    KeyState = 1
	KeyFailed     KeyState = 2 // carries its attempt; also for deferred and queued
	KeyUnknown    KeyState = 3
	KeyGivenUp    KeyState = 4 // dead, expired, skipped
)

// String names the state for logs and operators.
func (s KeyState) String() string {
	switch s {
	case KeyAbsent:
		return "absent"
	case KeyProcessing:
		return "processing"
	case KeySuccess:
		return "success"
	case KeyFailed:
		return "failed"
	case KeyUnknown:
		return "unknown"
	case KeyGivenUp:
		return "given_up"
	}
	return "invalid"
}

// Settlement is what a key is to become. State KeyAbsent deletes it.
type Settlement struct {
	State   KeyState
	Attempt int       // the row's attempt; fences retry messages (rules C3, C4)
	At      time.Time // when the row settled, by Postgres's clock; the window counts from here
}

// Settlement returns what the key must say for this row (rule K1). A row absent, or one that another claim is
// sending, leaves no key: the row alone decides.
func (r Row) Settlement() Settlement {
	s := Settlement{State: KeyAbsent, Attempt: r.Attempt, At: r.SettledAt}
	if s.At.IsZero() {
		s.At = r.UpdatedAt
	}
	switch r.Status {
	case Sent, Delivered, Undelivered:
		s.State = KeySuccess
	case Failed, Deferred:
		s.State = KeyFailed
	case Queued:
		s.State = KeyFailed
		s.Attempt = r.Attempt - 1 // so that retry message n is granted (rule C3)
	case Unknown:
		s.State = KeyUnknown
	case Dead, Expired, Skipped:
		s.State = KeyGivenUp
	case Sending:
	}
	return s
}

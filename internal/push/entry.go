package push

import (
	"errors"
	"time"
)

// ErrNotFound is the answer to a delivery that is not in the push log.
var ErrNotFound = errors.New("no such delivery in the push log")

// Entry is one delivery as operators see it; nothing in it is personal but UserID and the masked Recipient.
type Entry struct {
	Identity

	ID                int64  // push_log.id: names the delivery
	Round             int    // from 1
	BizID             string // the event's own, for people
	Status            Status
	Attempt           int    // the number of the current attempt; 0 before the first
	RetriesUsed       int    // what counts against retry.max_attempts
	Provider          string // of the current attempt; empty while none was named
	ProviderMsgID     string // empty unless the provider gave one
	ErrorCode         string // of the last attempt, or the reason of skipped, expired, dead
	ErrorMessage      string // the provider's words
	Hint              string // what a provider told of an attempt in doubt without proving it ours; empty where nothing
	UserID            string // whole: our own id, not an address
	Recipient         string // masked
	RecipientKept     bool   // the whole recipient is still there: without it nothing can be sent again
	EventID           string // as the producer gave it
	TraceID           string // 32 hex digits, or empty
	PossibleDuplicate bool   // sent again although an earlier attempt may have been accepted
	LetterDue         bool   // a dead letter is still to be written
	Origin            Origin // the record that made the row

	CreatedAt      time.Time
	UpdatedAt      time.Time // when the status last changed
	LeaseUntil     time.Time // zero unless sending
	AmbiguousSince time.Time // zero when no attempt is in doubt
	NextAttemptAt  time.Time // zero unless failed or deferred
	PublishedAt    time.Time // zero unless the queued attempt's retry message was acknowledged
	ExpiresAt      time.Time // zero when the event has none
	SettledAt      time.Time // zero while not settled
	SentAt         time.Time // zero unless accepted
}

// CodeUnknownExpired is the reason of a delivery that was given up without ever knowing whether it was sent (rule Q6).
const CodeUnknownExpired = "unknown_expired"

// InDoubt reports whether some attempt may have been accepted although the delivery does not count as sent: sending it
// once more may be a second time.
func (e Entry) InDoubt() bool {
	return e.Status == Unknown || !e.AmbiguousSince.IsZero() || e.PossibleDuplicate || e.ErrorCode == CodeUnknownExpired
}

// Attempt is one turn of a delivery, as push_timeline shows it.
type Attempt struct {
	Attempt       int    // 0 for a delivery that has none yet
	Provider      string // empty while none was named
	Outcome       string // a Class, or undone, lost; of the current attempt the row's status while it has none
	ProviderMsgID string
	ErrorCode     string
	ErrorMessage  string
	StartedAt     time.Time // zero while it has not begun
	FinishedAt    time.Time // zero while its outcome is not written
	Owner         string    // the claim that made it
	Worker        string    // host and process of that claim
	Current       bool      // the row's own attempt; the others are filed
}

// Heard is a receipt that found its delivery, as operators see it.
type Heard struct {
	ID         int64
	Provider   string
	Report     Report
	MessageID  string
	Code       string
	Message    string
	Effect     Effect
	Repeats    int
	ReceivedAt time.Time
	ReportedAt time.Time // zero when the provider did not say
	MatchedAt  time.Time
}

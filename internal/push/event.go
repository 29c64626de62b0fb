package push

import "time"

// Event is one business fact from the topic, validated (docs/contract.md, section 2).
type Event struct {
	BizType   string
	BizID     string   // digits as written when it came as an integer
	Actions   []Action // nil: all channels of the configured push; without repeats
	Recipient Recipient
	Params    map[string]Value
	EventID   string

	OccurredAt time.Time // zero when absent
	NotBefore  time.Time // zero when absent
	ExpiresAt  time.Time // zero when absent

	TraceParent string // W3C traceparent of the record's headers; empty when absent or malformed

	// Raw is the event's JSON text as received (of a CloudEvent: its data), without the recipient, cleaned of what
	// PostgreSQL cannot hold. Unknown fields are in it.
	Raw []byte
}

// Recipient holds each channel's own address; a channel whose field is empty is skipped.
type Recipient struct {
	UserID string
	Phone  string // as written; normalised by NormalizePhone
	OpenID string
}

// Value is one template value: a string, a number with its digits, or a boolean.
type Value struct {
	text    string // the string itself, or the literal as written
	literal bool   // a number or boolean
}

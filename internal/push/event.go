package push

import "time"

// Event is one business fact from the topic, validated (docs/contract.md, section 2).
type Event struct {
	BizType   string
	BizID     string   // digits as written when it came as an integer
	Actions   []Action // nil: all channels of the configured push; without repeats
	Recipient Recipient
	Params    map[string]Value
	EventID   string // traced and logged, never the dedup identity

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

// Vars returns what a template may name: each param as text, and the event's own biz_type, biz_id, event_id and
// occurred_at (RFC 3339), which win over a param of the same name. What is absent is not in it.
func (e *Event) Vars() map[string]string {
	vars := make(map[string]string, len(e.Params)+4)
	for name, value := range e.Params {
		vars[name] = value.String()
	}
	vars["biz_type"] = e.BizType
	vars["biz_id"] = e.BizID
	if e.EventID != "" {
		vars["event_id"] = e.EventID
	}
	if !e.OccurredAt.IsZero() {
		vars["occurred_at"] = e.OccurredAt.Format(time.RFC3339Nano)
	}
	return vars
}

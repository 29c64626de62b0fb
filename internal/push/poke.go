package push

import "time"

// Poke is a re-queued row: what the retry message of attempt Attempt carries (rules Q1, Q2). It repeats the row; the
// pusher that gets it believes the row, not the message.
type Poke struct {
	Identity

	ID        int64
	BizID     string
	Round     int
	Attempt   int
	Event     []byte // as received, without the recipient
	UserID    string
	Recipient string // the channel's own address, whole
	TraceID   string // 32 hex digits or empty
}

// Decided is a row that a pass of the compensator moved without a message: what it was about, and what it says now.
type Decided struct {
	Identity

	ID       int64
	BizID    string
	Round    int
	Attempt  int
	Status   Status
	Provider string // empty where no attempt was made
	Code     string // of the error, likewise
	TraceID  string // 32 hex digits or empty
}

// Letter is a delivery given up on, as it goes to the dead-letter topic (rule Q7).
type Letter struct {
	Poke

	Code    string // the last error's code
	Message string // the last error's words
	Origin  Origin
}

// Question is an unknown send that its provider can be asked about (rule Q5).
type Question struct {
	Identity

	ID       int64
	Round    int
	Attempt  int
	Provider string
	Phone    string    // E.164, whole
	IntentAt time.Time // when the first unresolved attempt went out
}

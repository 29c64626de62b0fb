package push

import "time"

// Verb is what an operator does to deliveries (rule O1, and P1 by a person's word).
type Verb string

// The verbs of an operator.
const (
	Requeue        Verb = "requeue"          // dead or failed, certainly not sent: once more
	ResolveSent    Verb = "resolve-sent"     // unknown: it was sent
	ResolveNotSent Verb = "resolve-not-sent" // unknown, or given up as such: it was not sent, so once more
	ResolveResend  Verb = "resolve-resend"   // the same, nobody knows: once more, as a possible duplicate
)

// Verbs lists every verb.
func Verbs() []Verb { return []Verb{Requeue, ResolveSent, ResolveNotSent, ResolveResend} }

// Candidate is a delivery that an operator's filter names, with what decides whether it may be moved.
type Candidate struct {
	Entry

	Overtaken bool // a later round of the same delivery exists
}

// Deed is one row to be moved: only while it is still what it was.
type Deed struct {
	ID      int64
	Status  Status
	Attempt int
}

// Moved is what became of a deed.
type Moved struct {
	Poke // ID, and of a row that is queued now all that its retry message carries

	Queued bool // the pusher is to be poked
}

// Deeds is one act of an operator, as the audit keeps it (operator_action).
type Deeds struct {
	ID         int64
	Actor      string // who
	Role       string // as what
	Verb       string // a Verb, or export-unmasked
	Reason     string // why
	Filter     string // on what, in words
	Counts     map[string]int
	Matching   int // rows that the filter named
	Changed    int // rows that were changed
	BegunAt    time.Time
	FinishedAt time.Time // zero: it did not come to its end, or is not there yet
}

// Done is one act as the delivery that it changed knows it.
type Done struct {
	Deeds

	Was     Status // before
	Attempt int    // before
}

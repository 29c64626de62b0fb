package push

import "time"

// Row is what a delivery's push-log row said in the answer to a statement: the last word on the delivery.
// The zero Row (ID 0) means that no row exists.
type Row struct {
	ID          int64
	Round       int // from 1
	Status      Status
	Attempt     int    // the fence: +1 at every re-queue or repeat, never reused; 0 for a delivery deferred at first sight
	RetriesUsed int    // what counts against retry.max_attempts
	Owner       string // token of the claim that wrote the current attempt's intent
	Provider    string

	LeaseLeft    time.Duration // until lease_until by Postgres's clock at the answer; <= 0 when over
	Ambiguous    bool          // ambiguous_since is set: an earlier attempt may have been accepted
	AmbiguousAge time.Duration // since ambiguous_since, by Postgres's clock at the answer
	SettledAt    time.Time     // zero while not settled
	UpdatedAt    time.Time

	// Event and Recipient are what a retry sends (the message that poked it is not believed); set by an intent for a
	// retry message only. Event is the text as received, without the recipient; Recipient is whole.
	Event     []byte
	Recipient string
}

// Exists reports whether there is a row at all.
func (r Row) Exists() bool { return r.ID != 0 }

// MayBeSent reports whether this answer entitles the claim me to send its attempt (rules I1, I2, I6, I7).
func (r Row) MayBeSent(me string) bool { return r.Status == Sending && r.Owner == me }

// HeldByOther reports whether another claim is sending and its row lease still runs (rule I4).
func (r Row) HeldByOther(me string) bool {
	return r.Status == Sending && r.Owner != me && r.LeaseLeft > 0
}

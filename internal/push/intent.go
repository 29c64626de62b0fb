package push

import "time"

// Intent asks for the permission to send one attempt of a delivery (rules I1 to I9). Granted is what the answered
// row says: see Row.MayBeSent.
type Intent struct {
	Delivery *Delivery
	Owner    string        // the claim's token
	Lease    time.Duration // the row's lease runs this long from the statement
	Provider string        // named in the row before it is called

	Recipient     string // masked
	RecipientHash []byte // keyed, to search by; nil without recipient
	RecipientFull string // the channel's own address, whole, kept only while a send may still need it

	ResendWithin time.Duration // of a Windowed channel, counted from ambiguous_since
	MaxAttempts  int           // retry.max_attempts
	Worker       string        // who writes: host and process, for operators
}

// Result is what became of an attempt (rules P1 to P4). Class decides the rule.
type Result struct {
	ID        int64 // push_log.id
	Owner     string
	Attempt   int
	Class     Class
	Scope     Scope // of a failure: whom it concerns
	Provider  string
	MessageID string
	Code      string
	Message   string
	Wait      time.Duration // NotSent, Throttled, Account: due again after this, by Postgres's clock
	Inbox     *Inbox        // Accepted on a Transactional channel: committed with the result
}

// Held names an attempt that a claim holds: what an undo, a renewal or a repeat is about.
type Held struct {
	ID           int64
	Owner        string
	Attempt      int
	Lease        time.Duration // renewal and repeat: the new row lease
	ResendWithin time.Duration // repeat: the window of a Windowed channel
	MaxAttempts  int           // repeat: retries left?
}

package push

import "time"

// Claim asks Redis for the permission to try one delivery (rules C1 to C6). It only saves work: the row decides.
type Claim struct {
	Key        string
	Owner      string        // unique to this claim call
	Retry      *Retry        // nil for a main message
	RecordTime time.Time     // the record's own timestamp
	Window     time.Duration // how long after its settle the same fact is a duplicate
}

// Verdict is the answer to a claim.
type Verdict int

// The answers to a claim.
const (
	Granted   Verdict = iota + 1 // the key is processing(me)
	Duplicate                    // C2, C4: discard; a row exists
	Busy                         // C6: another owner's lease runs; keep the message and look again
)

// String names the verdict for traces.
func (v Verdict) String() string {
	switch v {
	case Granted:
		return "granted"
	case Duplicate:
		return "duplicate"
	case Busy:
		return "busy"
	}
	return ""
}

// Grant is the answer to one claim of a batch.
type Grant struct {
	Verdict   Verdict
	Before    KeyState      // what the key said before; of a running claim KeyProcessing
	Attempt   int           // the attempt that the key carried before
	LeaseLeft time.Duration // Busy: until the other owner's lease ends
	Err       error         // this command's own failure; the others of the batch are not touched
}

// KeyHold names a key that a claim holds: what a renewal or a release is about.
type KeyHold struct {
	Key   string
	Owner string
}

// KeySettle asks that a key held by Owner say what the row said (rule K1).
type KeySettle struct {
	KeyHold
	Settlement

	Window time.Duration // the key lives this long again
}

// KeyAnswer is the answer to one settle, release or renewal of a batch.
type KeyAnswer struct {
	Mine bool  // the key was still processing for this owner, or already is what was asked for
	Err  error // this command's own failure
}

package push

import "slices"

// Status is where a delivery stands in the push log (docs/contract.md, section 5).
type Status string

// The statuses of a delivery.
const (
	Sending     Status = "sending"     // claimed, intent written: attempt n may be going out
	Sent        Status = "sent"        // the provider took it; in-app: it is in the inbox
	Delivered   Status = "delivered"   // a receipt said so
	Undelivered Status = "undelivered" // a receipt said so
	Failed      Status = "failed"      // certainly not sent; due again at next_attempt_at
	Queued      Status = "queued"      // re-enqueued, waiting for the pusher
	Deferred    Status = "deferred"    // not yet: not_before
	Unknown     Status = "unknown"     // may have been sent; nobody sends again until it is resolved
	Dead        Status = "dead"        // given up; has a dead letter
	Expired     Status = "expired"     // past expires_at, never sent
	Skipped     Status = "skipped"     // never sent, by rule
)

// Statuses lists every status, in the order of a delivery's life.
func Statuses() []Status {
	return []Status{Sending, Queued, Deferred, Failed, Unknown, Sent, Delivered, Undelivered, Dead, Expired, Skipped}
}

// Settled reports whether the delivery has come to its end; only a settled delivery may be followed by a new round.
func (s Status) Settled() bool {
	switch s {
	case Sent, Delivered, Undelivered, Dead, Expired, Skipped:
		return true
	case Sending, Failed, Queued, Deferred, Unknown:
		return false
	}
	return false
}

// moves is the life cycle of docs/contract.md, section 5, with the repeat of a taken-over attempt (rule I6) and the
// operator's reopening (rule O1).
func moves(s Status) []Status {
	switch s {
	case Sending:
		return Statuses()
	case Sent:
		return []Status{Delivered, Undelivered}
	case Failed:
		return []Status{Queued, Dead, Expired, Unknown, Sent}
	case Queued:
		return []Status{Sending, Failed, Unknown, Expired, Sent}
	case Deferred:
		return []Status{Queued, Dead, Expired, Unknown, Sent}
	case Unknown:
		return []Status{Sent, Delivered, Undelivered, Failed, Queued, Sending, Dead}
	case Dead:
		return []Status{Queued}
	case Delivered, Undelivered, Expired, Skipped:
	}
	return nil
}

// CanBecome reports whether a row may move from s to next; anything else would let a status go backwards.
func (s Status) CanBecome(next Status) bool { return slices.Contains(moves(s), next) }

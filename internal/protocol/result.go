package protocol

import (
	"time"

	"pusher/internal/push"
)

// Record writes what became of an attempt: rules P1 to P4. An owner that lost its claim changes nothing but to record an
// acceptance, or the proof that its own attempt did not leave (invariant (h)). provider is who said so.
func (l *Log) Record(r *Row, owner string, attempt int, class push.Class, wait time.Duration, provider string) {
	mine := r.Owner == owner && r.Attempt == attempt
	switch {
	case class == push.Accepted && l.is(push.Transactional):
		if mine && r.Status == push.Sending { // P1: the inbox row commits with it
			l.move(r, push.Sent)
		}
	case class == push.Accepted:
		if !r.Status.Settled() { // P1
			l.move(r, push.Sent)
			r.Provider = provider
		}
	case class == push.Ambiguous:
		if mine && r.Status == push.Sending { // P4
			r.AmbiguousSince = r.since()
			l.move(r, push.Unknown)
		}
	case mine && (r.Status == push.Sending || r.Status == push.Unknown):
		l.refuse(r, class, wait)
	}
}

// refuse is P2 and P3: the attempt was certainly not accepted, which proves nothing of an earlier one.
func (l *Log) refuse(r *Row, class push.Class, wait time.Duration) {
	if !r.AmbiguousSince.IsZero() {
		l.move(r, push.Unknown)
		return
	}
	if class.UsesRetry() {
		r.RetriesUsed++
	}
	if class == push.Permanent {
		l.move(r, push.Dead) // P3
		return
	}
	l.move(r, push.Failed) // P2
	r.Due = l.Now().Add(wait)
}

// Undo gives back an attempt of which nothing left: rule U1.
func (l *Log) Undo(r *Row, owner string, attempt int) {
	if r.Owner == owner && r.Attempt == attempt && (r.Status == push.Sending || r.Status == push.Unknown) {
		l.giveBack(r)
	}
}

// Repeat begins the next attempt of an own ambiguous one, inside the provider's window: rule P4.
func (l *Log) Repeat(r *Row, owner string, attempt int) {
	if l.is(push.Windowed) && r.Status == push.Unknown && r.Owner == owner && r.Attempt == attempt &&
		!r.AmbiguousSince.IsZero() && l.inWindow(r) && l.retriesLeft(r, 1) && !l.past(r) {
		r.Attempt++
		r.RetriesUsed++
		l.begin(r, owner, r.Provider)
	}
}

// Switch ends an own attempt that certainly did not reach the recipient, while no other is in doubt, and begins the next
// provider's: rule P5. What the turn comes to in the end says whether it uses a retry.
func (l *Log) Switch(r *Row, owner string, attempt int, class push.Class, next string) {
	refused := class == push.NotSent || class == push.Throttled || class == push.Account
	if refused && r.Status == push.Sending && r.Owner == owner && r.Attempt == attempt && r.AmbiguousSince.IsZero() && !l.past(r) {
		r.Attempt++
		l.begin(r, owner, next)
	}
}

// Renew extends the row's lease: rule N1.
func (l *Log) Renew(r *Row, owner string, attempt int) bool {
	if r.Status != push.Sending || r.Owner != owner || r.Attempt != attempt {
		return false
	}
	r.LeaseUntil = l.Now().Add(l.Lease)
	return true
}

package protocol

import (
	"time"

	"pusher/internal/push"
)

// Intent is one claim's wish to send.
type Intent struct {
	Owner      string
	Provider   string
	Retry      *push.Retry // nil for a main message
	RecordTime time.Time
	NotBefore  time.Time
	ExpiresAt  time.Time
}

// Intend gives the row its intent, if any rule lets it, and returns the row as it then is (nil: absent): rules I1 to I8.
// I9 is to call it again.
func (l *Log) Intend(in Intent) *Row {
	l.open(in, push.Sending) // I1
	r := l.asked(in)
	switch {
	case r == nil:
	case r.Status == push.Queued && in.asks(r):
		l.takeQueued(r, in) // I2, I3
	case r.Status == push.Sending && r.Owner != in.Owner && !r.LeaseUntil.After(l.Now()):
		l.takeOver(r, in) // I5, I6
	}
	return r // I4, I7, I8: as it was
}

// UndoLost undoes an intent whose answer got lost, and defeats it should it still land: rule U2.
func (l *Log) UndoLost(in Intent) *Row {
	l.open(in, push.Failed)
	r := l.asked(in)
	if r != nil && (r.Status == push.Queued && in.asks(r) || in.owns(r)) {
		l.giveBack(r)
	}
	return r
}

// asked is the row that an intent is about.
func (l *Log) asked(in Intent) *Row {
	if in.Retry != nil {
		return l.Round(in.Retry.Round)
	}
	return l.Round(0)
}

// asks reports whether the intent is for just the attempt for which the row is queued.
func (in Intent) asks(r *Row) bool { return in.Retry != nil && in.Retry.Attempt == r.Attempt }

// owns reports whether the row is this intent's own attempt, swept to unknown or not.
func (in Intent) owns(r *Row) bool {
	return (r.Status == push.Sending || r.Status == push.Unknown) && r.Owner == in.Owner
}

// open begins the next round, if the row is absent and a main message asks: rule I1, and U2 with its own status.
func (l *Log) open(in Intent, status push.Status) {
	last := l.Round(0)
	if in.Retry != nil || last != nil && (last.SettledAt.IsZero() || !in.RecordTime.After(last.SettledAt.Add(l.Window))) {
		return
	}
	r := &Row{Round: len(l.Rows) + 1, ExpiresAt: in.ExpiresAt}
	l.Rows = append(l.Rows, r)
	switch {
	case l.past(r):
		l.move(r, push.Expired)
	case in.NotBefore.After(l.Now()):
		l.move(r, push.Deferred)
		r.Due = in.NotBefore
	case status == push.Sending:
		r.Attempt = 1
		l.begin(r, in.Owner, in.Provider)
	default:
		r.Attempt = 1
		l.giveBack(r)
	}
}

// takeQueued begins the queued attempt: I2; or ends it on the way: I3, and Q6 of what is past its time.
func (l *Log) takeQueued(r *Row, in Intent) {
	doubtful := !r.AmbiguousSince.IsZero()
	switch {
	case l.past(r) && !doubtful && !r.PossibleDuplicate:
		l.move(r, push.Expired)
	case l.past(r):
		l.doubt(r)
	case doubtful && l.is(push.Windowed) && !l.inWindow(r): // I3
		l.move(r, push.Unknown)
	default:
		l.begin(r, in.Owner, in.Provider) // I2
	}
}

// takeOver is what a sending row becomes whose owner let its lease end, by capability: I5 and I6. Retries count the lost
// attempt too.
func (l *Log) takeOver(r *Row, in Intent) {
	left := l.retriesLeft(r, 1)
	if l.is(push.Windowed) {
		r.AmbiguousSince = r.since()
	}
	switch {
	case l.is(push.Opaque), l.is(push.Windowed) && (!l.inWindow(r) || !left || l.past(r)):
		l.move(r, push.Unknown) // I5: owner and attempt stay
	case l.past(r): // in-app: what did not commit did not send
		l.move(r, push.Expired)
	case !left:
		l.move(r, push.Dead)
	default: // I6
		r.Attempt++
		r.RetriesUsed++
		l.begin(r, in.Owner, in.Provider)
	}
}

// doubt makes a row unknown that an earlier attempt leaves in doubt, by whatever time of it is still known.
func (l *Log) doubt(r *Row) {
	if r.AmbiguousSince = r.since(); r.AmbiguousSince.IsZero() {
		r.AmbiguousSince = r.UpdatedAt
	}
	l.move(r, push.Unknown)
}

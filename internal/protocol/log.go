package protocol

import (
	"time"

	"pusher/internal/push"
)

// Rules are the limits by which a delivery goes.
type Rules struct {
	push.Policy

	Window time.Duration // of dedup
}

// Row is one round of a delivery.
type Row struct {
	Round       int
	Status      push.Status
	Attempt     int
	RetriesUsed int
	Owner       string
	Provider    string // of the current attempt, named before it is called

	IntentAt       time.Time // of the current attempt
	LeaseUntil     time.Time // exactly while sending
	AmbiguousSince time.Time // intent of the first unresolved attempt
	Due            time.Time // exactly while failed or deferred
	ExpiresAt      time.Time
	UpdatedAt      time.Time
	SettledAt      time.Time

	LetterDue         bool
	PossibleDuplicate bool
	UnknownExpired    bool // dead by hold_max: it may have been accepted
}

// Log is all that PostgreSQL knows of one delivery: a row a round. Its methods are the statements.
type Log struct {
	Rules

	Action push.Action
	Now    func() time.Time // PostgreSQL's clock
	Rows   []*Row           // round 1 first
}

// Round is the row of a round, 0 the latest; nil when there is none.
func (l *Log) Round(n int) *Row {
	if n == 0 {
		n = len(l.Rows)
	}
	if n < 1 || n > len(l.Rows) {
		return nil
	}
	return l.Rows[n-1]
}

func (l *Log) is(c push.Capability) bool { return l.Action.Capability() == c }

// past reports whether the row's event is past its time.
func (l *Log) past(r *Row) bool { return !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(l.Now()) }

// since is when the doubt about a row began: of a swept SMS its intent, since nothing is set for it (hole H13).
func (r *Row) since() time.Time {
	if r.AmbiguousSince.IsZero() {
		return r.IntentAt
	}
	return r.AmbiguousSince
}

// inWindow reports whether the provider still dedups a repeat.
func (l *Log) inWindow(r *Row) bool { return l.Now().Before(r.since().Add(l.ResendWithin)) }

// retriesLeft reports whether one more attempt may follow, when unresolved counts the current one too.
func (l *Log) retriesLeft(r *Row, unresolved int) bool {
	return r.RetriesUsed+unresolved < l.MaxAttempts
}

// move gives the row its next status. What goes with one status only goes with it.
func (l *Log) move(r *Row, s push.Status) {
	r.Status, r.UpdatedAt = s, l.Now()
	r.LeaseUntil, r.Due, r.SettledAt, r.LetterDue = time.Time{}, time.Time{}, time.Time{}, s == push.Dead
	if s.Settled() {
		r.SettledAt = l.Now()
	}
}

// begin makes the row its owner's to send by a provider, for the attempt it says.
func (l *Log) begin(r *Row, owner, provider string) {
	l.move(r, push.Sending)
	r.Owner, r.Provider, r.IntentAt, r.LeaseUntil = owner, provider, l.Now(), l.Now().Add(l.Lease)
}

// queue makes the row wait for its next attempt, which nobody owns yet.
func (l *Log) queue(r *Row) {
	l.move(r, push.Queued)
	r.Attempt++
	r.Owner, r.IntentAt = "", time.Time{}
}

// giveBack is where an attempt goes of which nothing left: rules U1 and U2.
func (l *Log) giveBack(r *Row) {
	if !r.AmbiguousSince.IsZero() {
		l.move(r, push.Unknown)
		return
	}
	l.move(r, push.Failed)
	r.Due = l.Now()
}

// Settlement is what a key must say for this row: rule K1.
func (r *Row) Settlement() push.Settlement {
	s := push.Settlement{State: push.KeyAbsent, Attempt: r.Attempt, At: r.UpdatedAt}
	switch r.Status {
	case push.Sent, push.Delivered, push.Undelivered:
		s.State = push.KeySuccess
	case push.Failed, push.Deferred:
		s.State = push.KeyFailed
	case push.Queued:
		s.State, s.Attempt = push.KeyFailed, r.Attempt-1
	case push.Unknown:
		s.State = push.KeyUnknown
	case push.Dead, push.Expired, push.Skipped:
		s.State = push.KeyGivenUp
	case push.Sending: // another's: no key
	}
	return s
}

// holdMax is how long the channel's unknown sends are kept.
func (l *Log) holdMax() time.Duration {
	if l.is(push.Windowed) {
		return l.WeChat.HoldMax
	}
	return l.SMS.HoldMax
}

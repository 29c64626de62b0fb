package protocol

import "pusher/internal/push"

// Requeue queues what is due again: rule Q1.
func (l *Log) Requeue() {
	for _, r := range l.Rows {
		if waits(r) && !r.Due.After(l.Now()) && l.retriesLeft(r, 0) && !l.past(r) {
			l.queue(r)
		}
	}
}

// waits reports whether a row waits for its time.
func waits(r *Row) bool { return r.Status == push.Failed || r.Status == push.Deferred }

// Sweep takes up sends whose owners left them behind, by capability: rule Q3.
func (l *Log) Sweep() {
	for _, r := range l.Rows {
		if r.Status == push.Sending && r.LeaseUntil.Add(l.Lease).Before(l.Now()) {
			l.sweep(r)
		}
	}
}

func (l *Log) sweep(r *Row) {
	if l.is(push.Windowed) {
		r.AmbiguousSince = r.since()
	}
	harmless := l.is(push.Transactional) || l.is(push.Windowed) && l.inWindow(r)
	switch {
	case harmless && l.retriesLeft(r, 1):
		r.RetriesUsed++
		l.queue(r)
	case l.is(push.Transactional):
		l.move(r, push.Dead)
	default:
		l.move(r, push.Unknown) // owner and attempt stay (hole H13)
	}
}

// RepeatUnknown queues what the provider keeps from doubling: rule Q4. It waits a lease for a pusher that repeats itself.
func (l *Log) RepeatUnknown() {
	for _, r := range l.Rows {
		if l.is(push.Windowed) && r.Status == push.Unknown && l.inWindow(r) && l.retriesLeft(r, 1) && !l.past(r) &&
			r.UpdatedAt.Before(l.Now().Add(-l.Lease)) {
			r.RetriesUsed++
			l.queue(r)
		}
	}
}

// Resend queues what policy sends again although it may have been accepted: rule Q5, `when_unknown: resend`.
func (l *Log) Resend() {
	policy := l.SMS.Resend
	if l.is(push.Windowed) {
		policy = l.WeChat.Resend
	}
	for _, r := range l.Rows {
		if policy && !l.is(push.Transactional) && r.Status == push.Unknown && l.retriesLeft(r, 1) && !l.past(r) &&
			!l.Now().Before(r.since().Add(l.ResendAfter(l.Action))) {
			r.RetriesUsed++
			r.PossibleDuplicate = true
			l.queue(r)
			r.AmbiguousSince = r.IntentAt // cleared: the doubt begins anew with the next attempt
		}
	}
}

// GiveUp closes what is over: rule Q6, which never touches sending.
func (l *Log) GiveUp() {
	for _, r := range l.Rows {
		if waits(r) && !l.retriesLeft(r, 0) {
			l.move(r, push.Dead)
		}
		if (waits(r) || r.Status == push.Queued) && l.past(r) {
			l.expire(r)
		}
		if r.Status == push.Unknown && !r.since().After(l.Now().Add(-l.holdMax())) {
			l.move(r, push.Dead)
			r.UnknownExpired = true
		}
	}
}

// expire ends what is past its time: only what was certainly never sent is called so (hole H15).
func (l *Log) expire(r *Row) {
	if r.AmbiguousSince.IsZero() && !r.PossibleDuplicate {
		l.move(r, push.Expired)
		return
	}
	l.doubt(r)
}

// WriteLetters writes what is due: rule Q7.
func (l *Log) WriteLetters() {
	for _, r := range l.Rows {
		r.LetterDue = false
	}
}

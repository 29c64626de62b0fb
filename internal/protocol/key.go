package protocol

import (
	"time"

	"pusher/internal/push"
)

// Key is one dedup key, as the rules see it.
type Key struct {
	State   push.KeyState
	Attempt int       // of the settled row; while processing what the key carried before the claim
	At      time.Time // when that row settled
	Expires time.Time // Redis drops the key then; invariant (f): never zero while there is a key

	Owner    string // while processing, as all below
	LeaseEnd time.Time
	Was      push.KeyState // what the claim was told (C5 tells it again)
	Earlier  push.KeyState // the settled state that a release goes back to (R1)
}

// Absent is no key.
func Absent() Key { return Key{State: push.KeyAbsent, Was: push.KeyAbsent, Earlier: push.KeyAbsent} }

// Claim decides on a claim and changes the key if it is granted: rules C1 to C6.
func (k *Key) Claim(c push.Claim, lease time.Duration, now time.Time) push.Grant {
	grant := push.Grant{Verdict: push.Granted, Before: k.State, Attempt: k.Attempt}
	switch {
	case k.Held(c.Owner): // C5
		grant.Before = k.Was
		k.LeaseEnd, k.Expires = now.Add(lease), now.Add(c.Window)
		return grant
	case k.Running(lease, now): // C6
		grant.Verdict = push.Busy
		return grant
	case k.discards(c): // C2, C4
		grant.Verdict = push.Duplicate
		return grant
	}
	earlier := k.Earlier // C1, C3
	if k.State != push.KeyProcessing {
		earlier = k.State
	}
	if k.news(c) && earlier == push.KeyFailed {
		earlier = push.KeyAbsent // the last round's attempts fence none of the next
	}
	*k = Key{
		State: push.KeyProcessing, Attempt: k.Attempt, At: k.At, Expires: now.Add(c.Window),
		Owner: c.Owner, LeaseEnd: now.Add(lease), Was: k.State, Earlier: earlier,
	}
	return grant
}

// discards reports whether a settled key lets a message go: every main message within the window (C2), a retry for an
// attempt that has already failed (C4).
func (k *Key) discards(c push.Claim) bool {
	switch {
	case k.State == push.KeyAbsent, k.State == push.KeyProcessing:
		return false
	case c.Retry == nil:
		return !k.news(c)
	}
	return k.State == push.KeyFailed && k.Attempt >= c.Retry.Attempt
}

// news reports whether a main message is the same fact again, after its window.
func (k *Key) news(c push.Claim) bool {
	return c.Retry == nil && !k.At.IsZero() && c.RecordTime.After(k.At.Add(c.Window))
}

// Held reports whether owner's claim has the key, its lease over or not.
func (k *Key) Held(owner string) bool { return k.State == push.KeyProcessing && k.Owner == owner }

// Running reports whether a claim's lease runs. One that ends later than any lease now could is of a clock that went
// back, and over.
func (k *Key) Running(lease time.Duration, now time.Time) bool {
	return k.State == push.KeyProcessing && k.LeaseEnd.After(now) && !k.LeaseEnd.After(now.Add(lease))
}

// Settle makes an owner's key say what the row said: rule K1. The answer is whether it says so now.
func (k *Key) Settle(owner string, s push.Settlement, window time.Duration, now time.Time) bool {
	if !k.Held(owner) {
		return k.says(s)
	}
	k.become(s, now.Add(window))
	return true
}

// Release gives a claim back: rule R1. The answer is whether nobody holds the key now.
func (k *Key) Release(owner string) bool {
	if !k.Held(owner) {
		return k.State != push.KeyProcessing
	}
	k.become(push.Settlement{State: k.Earlier, Attempt: k.Attempt, At: k.At}, k.Expires)
	return true
}

// Renew extends an owner's lease: rule N1.
func (k *Key) Renew(owner string, lease time.Duration, now time.Time) bool {
	if !k.Held(owner) {
		return false
	}
	k.LeaseEnd = now.Add(lease)
	return true
}

// Repair makes the key say what the row says, if it is still as it was seen and no lease runs on it: rule Q8. The
// answer is whether it says so now.
func (k *Key) Repair(seen Key, s push.Settlement, r Rules, now time.Time) bool {
	if k.says(s) {
		return true
	}
	if seen.Expires = k.Expires; *k != seen || k.Running(r.Lease, now) { // how long it lives is no part of what it says
		return false
	}
	k.become(s, now.Add(r.Window))
	return true
}

// says reports whether the key says just this already.
func (k *Key) says(s push.Settlement) bool {
	if s.State == push.KeyAbsent || k.State != s.State {
		return k.State == s.State
	}
	return k.Attempt == s.Attempt && k.At.Equal(s.At)
}

func (k *Key) become(s push.Settlement, expires time.Time) {
	*k = Absent()
	if s.State != push.KeyAbsent {
		k.State, k.Attempt, k.At, k.Expires = s.State, s.Attempt, s.At, expires
	}
}

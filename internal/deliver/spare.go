package deliver

import (
	"cmp"
	"context"
	"sync"
	"time"

	"pusher/internal/push"
)

// probeEvery is how often a Redis that is away is asked again.
const probeEvery = time.Second

// spare lets the intent alone arbitrate while Redis does not answer (dedup.on_redis_down: postgres; invariant d): a
// claim is then granted unasked, and a settle, release or renewal is left undone. One unanswered call is enough to go
// on without Redis. Each probeEvery one batch of claims asks it again; no other waits for that answer.
type spare struct {
	Keys

	now  func() time.Time
	told func(away bool, err error) // of each change; err is what Redis said last

	mu      sync.Mutex
	away    bool      // guarded by mu
	probing bool      // guarded by mu; one batch asks whether Redis is back
	next    time.Time // guarded by mu; while away: not to be asked before
}

// Claim asks Redis where it answers, and grants what it leaves unanswered: the row decides.
func (s *spare) Claim(ctx context.Context, claims []push.Claim) []push.Grant {
	if !s.mayAsk() {
		return grantAll(make([]push.Grant, len(claims)))
	}
	grants := s.Keys.Claim(ctx, claims)
	var silent error
	for _, g := range grants {
		silent = cmp.Or(silent, g.Err)
	}
	s.heard(silent)
	return grantAll(grants)
}

// grantAll grants every claim that Redis has not answered.
func grantAll(grants []push.Grant) []push.Grant {
	for i, g := range grants {
		if g.Err != nil || g.Verdict == 0 {
			grants[i] = push.Grant{Verdict: push.Granted, Before: push.KeyAbsent}
		}
	}
	return grants
}

// Settle is that of Keys while Redis answers.
func (s *spare) Settle(ctx context.Context, settles []push.KeySettle) []push.KeyAnswer {
	return spared(s, settles, func() []push.KeyAnswer { return s.Keys.Settle(ctx, settles) })
}

// Release is that of Keys while Redis answers.
func (s *spare) Release(ctx context.Context, holds []push.KeyHold) []push.KeyAnswer {
	return spared(s, holds, func() []push.KeyAnswer { return s.Keys.Release(ctx, holds) })
}

// Renew is that of Keys while Redis answers. What is left undone extends nothing: the lease runs on by our own clock,
// or by the row's renewal.
func (s *spare) Renew(ctx context.Context, holds []push.KeyHold) []push.KeyAnswer {
	return spared(s, holds, func() []push.KeyAnswer { return s.Keys.Renew(ctx, holds) })
}

// spared says a word to a Redis that is not known to be away; what it leaves unanswered is left undone.
func spared[Q any](s *spare, asks []Q, word func() []push.KeyAnswer) []push.KeyAnswer {
	if s.isAway() {
		return make([]push.KeyAnswer, len(asks))
	}
	answers := word()
	var silent error
	for i, a := range answers {
		if a.Err != nil {
			silent = a.Err
			answers[i] = push.KeyAnswer{}
		}
	}
	s.heard(silent)
	return answers
}

// mayAsk reports whether a batch of claims is to ask Redis; while it is away, that batch is the probe.
func (s *spare) mayAsk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.away {
		return true
	}
	if s.probing || s.now().Before(s.next) {
		return false
	}
	s.probing = true
	return true
}

func (s *spare) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

// heard notes how a call went, and tells of a change.
func (s *spare) heard(silent error) {
	s.mu.Lock()
	changed := s.away != (silent != nil)
	s.away, s.probing, s.next = silent != nil, false, s.now().Add(probeEvery)
	s.mu.Unlock()
	if changed {
		s.told(silent != nil, silent)
	}
}

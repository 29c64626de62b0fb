package wechat

import (
	"context"
	"errors"
	"sync"
	"time"

	"pusher/internal/push"
)

const (
	// tokenMargin is how long before its end a token is no longer used. WeChat renews a stable token in its last five
	// minutes, and both live on.
	tokenMargin = time.Minute

	// After a failed or refused token the next one is fetched at once, then after first, then after ever longer
	// waits: an outage of five minutes sees a dozen calls.
	firstHold = time.Second
	maxHold   = time.Minute
)

// tokens keeps the access token for all sends, and keeps them from asking for one all at once or all the time.
type tokens struct {
	fetch func(ctx context.Context) (token string, life time.Duration, err error)
	now   func() time.Time
	turn  chan struct{} // has room for the one who may fetch

	mu       sync.Mutex // guards all below
	token    string     // empty for none
	until    time.Time  // the token is used before this
	failures int        // in a row, without a token that worked
	hold     time.Time  // nobody fetches before this
	last     *push.Failure
}

func newTokens(fetch func(context.Context) (string, time.Duration, error), now func() time.Time) *tokens {
	return &tokens{fetch: fetch, now: now, turn: make(chan struct{}, 1)}
}

// get returns the token of the moment, fetched by at most one caller at a time. While fetching is held back it fails
// at once with the failure that is the reason.
func (t *tokens) get(ctx context.Context) (string, error) {
	if token, f := t.peek(); token != "" || f != nil {
		return token, failed(f)
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", &push.Failure{Class: push.NotSent, Scope: push.ScopeChannel, Code: "token_wait", Unsent: true, Err: ctx.Err()}
	}
	if token, f := t.peek(); token != "" || f != nil { // fetched, or failed, while we waited
		return token, failed(f)
	}
	token, life, err := t.fetch(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) { // a cancelled caller says nothing about WeChat
			t.fail(push.FailureOf(err))
		}
		return "", err
	}
	t.token, t.until = token, t.now().Add(life-min(tokenMargin, life/2))
	return token, nil
}

// peek returns the cached token, or the failure that holds fetching back, or neither.
func (t *tokens) peek() (string, *push.Failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.token != "" && now.Before(t.until) {
		return t.token, nil
	}
	if left := t.hold.Sub(now); left > 0 {
		f := *t.last
		f.Wait, f.Unsent = left, f.Class == push.NotSent
		return "", &f
	}
	return "", nil
}

// worked takes note of a token that WeChat took; err is what became of the message.
func (t *tokens) worked(token string, err error) {
	if f := push.FailureOf(err); err != nil && (f.Class == push.Ambiguous || f.Unsent) {
		return // no answer: says nothing about the token
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if token == t.token {
		t.failures = 0
	}
}

// refused takes note of a token that WeChat refused, once for all who used it.
func (t *tokens) refused(token string, f *push.Failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token == t.token {
		t.token = ""
		t.fail(f)
	}
}

// fail holds the next fetch back, longer from failure to failure; the caller holds the lock.
func (t *tokens) fail(f *push.Failure) {
	t.failures++
	t.last = f
	t.hold = t.now()
	if t.failures > 1 {
		t.hold = t.hold.Add(min(firstHold<<min(t.failures-2, 10), maxHold))
	}
}

// failed is f as an error, nil for none.
func failed(f *push.Failure) error {
	if f == nil {
		return nil
	}
	return f
}

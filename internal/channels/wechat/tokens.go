package wechat

import (
	"context"
	"sync"
	"time"

	"pusher/internal/push"
)

const (
	// tokenMargin is how long before its end a token is no longer used. WeChat renews a stable token in its last five
	// minutes, and both live on.
	tokenMargin = time.Minute

	// fetchMost bounds one fetch. It is longer than a send may take: a token that comes late serves the next one.
	fetchMost = 15 * time.Second

	// After a failed or refused token the next one is fetched at once, then after first, then after ever longer
	// waits: an outage of five minutes sees a dozen calls.
	firstHold = time.Second
	maxHold   = time.Minute
)

// fetcher asks WeChat for a token; force asks for a new one, which kills the token of the moment for everybody.
type fetcher func(ctx context.Context, force bool) (token string, life time.Duration, err error)

// tokens keeps the access token for all sends, and keeps them from asking for one all at once or all the time.
type tokens struct {
	fetch  fetcher
	forced forced
	now    func() time.Time

	life context.Context //nolint:containedctx // a fetch outlives the send that began it
	end  context.CancelFunc
	work sync.WaitGroup // the fetch under way; close waits for it

	mu       sync.Mutex // guards all below
	token    string     // empty for none
	until    time.Time  // the token is used before this
	since    time.Time  // when the token came
	dead     string     // what WeChat refused last
	failures int        // in a row, without a token that worked
	hold     time.Time  // nobody fetches before this
	last     *push.Failure
	under    *fetch // under way; nil for none
}

// fetch is one fetch that many wait for; token and err are set before done is closed.
type fetch struct {
	done  chan struct{}
	token string
	err   error
}

func newTokens(fetch fetcher, ration Ration, account string, now func() time.Time) *tokens {
	t := &tokens{fetch: fetch, forced: forced{ration: ration, account: account, now: now, settle: settle}, now: now}
	t.life, t.end = context.WithCancel(context.Background())
	return t
}

// close ends a fetch under way and waits for it.
func (t *tokens) close() {
	t.end()
	t.work.Wait()
}

// get returns the token of the moment. There is one fetch at a time, whoever waits for it; one that gives up waiting
// does not end it. While fetching is held back get fails at once with the failure that is the reason.
func (t *tokens) get(ctx context.Context) (string, error) {
	token, f, under := t.peek()
	switch {
	case f != nil:
		return "", f
	case under == nil:
		return token, nil
	}
	select {
	case <-under.done:
		return under.token, under.err
	case <-ctx.Done():
		return "", &push.Failure{Class: push.NotSent, Scope: push.ScopeChannel, Code: "token_wait", Unsent: true, Err: ctx.Err()}
	}
}

// peek returns the cached token, or the failure that holds fetching back, or the fetch under way, begun if need be.
func (t *tokens) peek() (string, *push.Failure, *fetch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.token != "" && now.Before(t.until) {
		return t.token, nil, nil
	}
	if t.under != nil {
		return "", nil, t.under
	}
	if left := t.hold.Sub(now); left > 0 {
		f := *t.last
		f.Wait, f.Unsent = left, f.Class == push.NotSent
		return "", &f, nil
	}
	t.under = &fetch{done: make(chan struct{})}
	dead, under := t.dead, t.under
	t.work.Go(func() { t.run(under, dead) })
	return "", nil, under
}

// run fetches, for everybody who waits; dead is the token that must not come back.
func (t *tokens) run(under *fetch, dead string) {
	ctx, cancel := context.WithTimeout(t.life, fetchMost)
	defer cancel()
	token, life, err := t.fetch(ctx, false)
	if err == nil && token == dead {
		token, life, err = t.forced.replace(ctx, dead, life, t.fetch)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(under.done)
	t.under = nil
	if under.token, under.err = token, err; err != nil {
		t.fail(push.FailureOf(err))
		return
	}
	t.since = t.now()
	t.token, t.until = token, t.since.Add(life-min(tokenMargin, life/2))
}

// age is how long ago the token in use came; false while there is none.
func (t *tokens) age() (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	return now.Sub(t.since), t.token != "" && now.Before(t.until)
}

// worked takes note of a token that WeChat took; err is what became of the message.
func (t *tokens) worked(token string, err error) {
	if f := push.FailureOf(err); err != nil && (f.Class == push.Ambiguous || f.Unsent) {
		return // no answer: says nothing about the token
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if token == t.token {
		t.failures, t.dead = 0, ""
	}
}

// refused takes note of a token that WeChat refused, once for all who used it.
func (t *tokens) refused(token string, f *push.Failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token == t.token {
		t.token, t.dead = "", token
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

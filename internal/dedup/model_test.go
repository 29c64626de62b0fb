package dedup

import (
	"testing"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// model is one key as the rules see it. Leases end only when the test says so.
type model struct {
	state     push.KeyState
	attempt   int
	at        time.Time
	owner     string
	over      bool // the lease
	was, back push.KeyState
}

var absent = model{state: push.KeyAbsent, back: push.KeyAbsent}

func (m *model) claim(c push.Claim) push.Grant {
	before := *m
	main, news := c.Retry == nil, c.Retry == nil && c.RecordTime.After(m.at.Add(c.Window))
	answer := func(v push.Verdict) push.Grant {
		return push.Grant{Verdict: v, Before: before.state, Attempt: before.attempt}
	}
	*m = model{state: push.KeyProcessing, attempt: before.attempt, at: before.at, owner: c.Owner, was: before.state, back: before.back}
	switch before.state {
	case push.KeyAbsent:
	case push.KeyProcessing:
		if before.owner == c.Owner { // C5
			m.was = before.was
			return push.Grant{Verdict: push.Granted, Before: m.was, Attempt: m.attempt}
		}
		if !before.over { // C6
			*m = before
			return answer(push.Busy)
		}
	default:
		m.back = before.state
		if main && !news || !main && before.state == push.KeyFailed && before.attempt >= c.Retry.Attempt { // C2, C4
			*m = before
			return answer(push.Duplicate)
		}
	}
	if m.back == push.KeyFailed && news {
		m.back = push.KeyAbsent
	}
	return answer(push.Granted)
}

func (m *model) held(owner string) bool { return m.state == push.KeyProcessing && m.owner == owner }

func (m *model) become(s push.Settlement) {
	*m = absent
	if s.State != push.KeyAbsent {
		*m = model{state: s.State, attempt: s.Attempt, at: s.At, back: push.KeyAbsent}
	}
}

func (m *model) says(s push.Settlement) bool {
	if s.State == push.KeyAbsent || m.state != s.State {
		return m.state == s.State
	}
	return m.attempt == s.Attempt && m.at.Equal(s.At)
}

func (m *model) settle(s push.KeySettle) bool {
	if !m.held(s.Owner) {
		return m.says(s.Settlement)
	}
	m.become(s.Settlement)
	return true
}

func (m *model) release(owner string) bool {
	if !m.held(owner) {
		return m.state != push.KeyProcessing
	}
	m.become(push.Settlement{State: m.back, Attempt: m.attempt, At: m.at})
	return true
}

func (m *model) repair(seen model, s push.Settlement) bool {
	if m.says(s) {
		return true
	}
	if *m != seen || m.state == push.KeyProcessing && !m.over {
		return false
	}
	m.become(s)
	return true
}

// walk is a random walk over one key, held to the model step by step.
type walk struct {
	*rapid.T

	client redis.UniversalClient
	keys   *Keys
	key    string
	model  model
	seen   KeyInfo // the last look at the key, and the model then
	then   model
}

func (w *walk) owner() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.T, "owner") }

func (w *walk) time() time.Time {
	return settledAt.Add(time.Duration(rapid.IntRange(0, 4).Draw(w.T, "half windows")) * window / 2)
}

func (w *walk) settlement() push.Settlement {
	return push.Settlement{
		State:   rapid.SampledFrom([]push.KeyState{-1, 1, 2, 2, 2, 3, 4}).Draw(w.T, "state"),
		Attempt: rapid.IntRange(0, 3).Draw(w.T, "attempt"), At: w.time(),
	}
}

func (w *walk) agree(got []push.KeyAnswer, want bool) {
	if got[0].Err != nil || got[0].Mine != want {
		w.Fatalf("answered %+v, want %v", got[0], want)
	}
}

func (w *walk) actions() map[string]func(*rapid.T) {
	hold := func(owner string) []push.KeyHold { return []push.KeyHold{{Key: w.key, Owner: owner}} }
	return map[string]func(*rapid.T){
		"claim": func(t *rapid.T) {
			c := push.Claim{Key: w.key, Owner: w.owner(), RecordTime: w.time(), Window: window}
			if attempt := rapid.IntRange(0, 3).Draw(t, "retry"); attempt > 0 {
				c.Retry = retry(attempt)
			}
			got, want := w.keys.Claim(w.Context(), []push.Claim{c})[0], w.model.claim(c)
			if want.Verdict == push.Busy {
				want.LeaseLeft = got.LeaseLeft
			}
			if got != want {
				t.Fatalf("granted %+v, want %+v", got, want)
			}
		},
		"settle": func(*rapid.T) {
			s := push.KeySettle{KeyHold: hold(w.owner())[0], Settlement: w.settlement(), Window: window}
			w.agree(w.keys.Settle(w.Context(), []push.KeySettle{s}), w.model.settle(s))
		},
		"release": func(*rapid.T) {
			owner := w.owner()
			w.agree(w.keys.Release(w.Context(), hold(owner)), w.model.release(owner))
		},
		"renew": func(*rapid.T) {
			owner := w.owner()
			held := w.model.held(owner)
			w.model.over = w.model.over && !held
			w.agree(w.keys.Renew(w.Context(), hold(owner)), held)
		},
		"look": func(*rapid.T) { w.seen, w.then = w.inspect(), w.model },
		"repair": func(*rapid.T) {
			s := w.settlement()
			w.agree(w.keys.Repair(w.Context(), []Repair{{Seen: w.seen, Settlement: s, Window: window}}), w.model.repair(w.then, s))
		},
		"lease ends": func(t *rapid.T) {
			if w.model.state == push.KeyProcessing {
				// Over by time, or by a clock that went back: an end that no claim made now could have.
				w.client.HSet(w.Context(), w.key, "l", rapid.SampledFrom([]int64{1, 1 << 45}).Draw(t, "end"))
				w.model.over = true
				w.seen, w.then = w.inspect(), w.model
			}
		},
		"redis forgets": func(*rapid.T) {
			w.client.Del(w.Context(), w.key)
			w.model = absent
		},
		"a person writes": func(*rapid.T) {
			w.client.Set(w.Context(), w.key, "done", 0)
			w.model = absent
			w.seen, w.then = w.inspect(), w.model
		},
		"": func(*rapid.T) { w.check() },
	}
}

func (w *walk) inspect() KeyInfo {
	info, err := w.keys.Inspect(w.Context(), w.key)
	if err != nil {
		w.Fatal(err)
	}
	return info
}

func (w *walk) check() {
	info, m := w.inspect(), w.model
	running := m.state == push.KeyProcessing && !m.over
	if info.State != m.state || info.Owner != m.owner || info.Attempt != m.attempt || info.Earlier != m.back ||
		(info.LeaseLeft > 0) != running {
		w.Fatalf("the key says %+v, want %+v", info, m)
	}
	if m.state > push.KeyProcessing && !info.SettledAt.Equal(m.at) {
		w.Fatalf("settled at %v, want %v", info.SettledAt, m.at)
	}
	if m.state != push.KeyAbsent && info.TTL <= 0 { // invariant (f)
		w.Fatalf("no TTL: %+v", info)
	}
}

// property walks at random over claims, settles, releases, renewals and repairs of three owners, leases that end and a
// Redis that forgets.
func property(client redis.UniversalClient) func(*rapid.T) {
	n := 0
	return func(r *rapid.T) {
		n++
		w := &walk{T: r, client: client, keys: New(client, lease), key: keyOf(n), model: absent, then: absent}
		client.Del(r.Context(), w.key)
		w.seen = w.inspect()
		r.Repeat(w.actions())
	}
}

func TestKeysFollowTheModel(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) { rapid.Check(t, property(client)) })
}

// The client's own retry sends a pipeline again whose answers got lost: what it answers must be the same.
func TestKeysFollowTheModelWhenEveryPipelineIsSentTwice(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		client.AddHook(twice{})
		rapid.Check(t, property(client))
	})
}

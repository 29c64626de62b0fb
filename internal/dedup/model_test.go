package dedup

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"pusher/internal/protocol"
	"pusher/internal/push"
)

// still is the time in the model: leases end only when the test says so.
var still = settledAt.Add(10 * window)

// walk is a random walk over one key, held to the protocol's model step by step. That of internal/protocol, over the
// rows too, has neither a person who writes nor pipelines that are sent twice.
type walk struct {
	*rapid.T

	client redis.UniversalClient
	keys   *Keys
	key    string
	model  protocol.Key
	seen   KeyInfo // the last look at the key, and the model then
	then   protocol.Key
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
			got, want := w.keys.Claim(w.Context(), []push.Claim{c})[0], w.model.Claim(c, lease, still)
			if want.Verdict == push.Busy {
				want.LeaseLeft = got.LeaseLeft
			}
			if got != want {
				t.Fatalf("granted %+v, want %+v", got, want)
			}
		},
		"settle": func(*rapid.T) {
			s := push.KeySettle{KeyHold: hold(w.owner())[0], Settlement: w.settlement(), Window: window}
			w.agree(w.keys.Settle(w.Context(), []push.KeySettle{s}), w.model.Settle(s.Owner, s.Settlement, window, still))
		},
		"release": func(*rapid.T) {
			owner := w.owner()
			w.agree(w.keys.Release(w.Context(), hold(owner)), w.model.Release(owner))
		},
		"renew": func(*rapid.T) {
			owner := w.owner()
			w.agree(w.keys.Renew(w.Context(), hold(owner)), w.model.Renew(owner, lease, still))
		},
		"look": func(*rapid.T) { w.seen, w.then = w.inspect(), w.model },
		"repair": func(*rapid.T) {
			s, rules := w.settlement(), protocol.Rules{Policy: push.Policy{Lease: lease}, Window: window}
			w.agree(w.keys.Repair(w.Context(), []Repair{{Seen: w.seen, Settlement: s, Window: window}}), w.model.Repair(w.then, s, rules, still))
		},
		"lease ends": func(t *rapid.T) {
			if w.model.State == push.KeyProcessing {
				// Over by time, or by a clock that went back: an end that no claim made now could have.
				w.client.HSet(w.Context(), w.key, "l", rapid.SampledFrom([]int64{1, 1 << 45}).Draw(t, "end"))
				w.model.LeaseEnd = still
				w.seen, w.then = w.inspect(), w.model
			}
		},
		"redis forgets": func(*rapid.T) {
			w.client.Del(w.Context(), w.key)
			w.model = protocol.Absent()
		},
		"a person writes": func(*rapid.T) {
			w.client.Set(w.Context(), w.key, "done", 0)
			w.model = protocol.Absent()
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
	if info.State != m.State || info.Owner != m.Owner || info.Attempt != m.Attempt || info.Earlier != m.Earlier ||
		(info.LeaseLeft > 0) != m.Running(lease, still) {
		w.Fatalf("the key says %+v, want %+v", info, m)
	}
	if m.State > push.KeyProcessing && !info.SettledAt.Equal(m.At) {
		w.Fatalf("settled at %v, want %v", info.SettledAt, m.At)
	}
	if m.State != push.KeyAbsent && info.TTL <= 0 { // invariant (f)
		w.Fatalf("no TTL: %+v", info)
	}
}

// property walks at random over claims, settles, releases, renewals and repairs of three owners, leases that end and a
// Redis that forgets.
func property(client redis.UniversalClient) func(*rapid.T) {
	n := 0
	return func(r *rapid.T) {
		n++
		w := &walk{T: r, client: client, keys: New(client, lease), key: keyOf(n), model: protocol.Absent(), then: protocol.Absent()}
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

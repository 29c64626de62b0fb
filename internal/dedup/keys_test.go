package dedup

import (
	"context"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
)

func settle(key, owner string, s push.KeyState, attempt int) push.KeySettle {
	return push.KeySettle{
		KeyHold:    push.KeyHold{Key: key, Owner: owner},
		Settlement: push.Settlement{State: s, Attempt: attempt, At: settledAt}, Window: window,
	}
}

func mine(t testing.TB, answers []push.KeyAnswer) bool {
	t.Helper()
	for _, a := range answers {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	return answers[0].Mine
}

func TestK1SettleSaysWhatTheRowSaid(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		states := []push.KeyState{push.KeySuccess, push.KeyFailed, push.KeyUnknown, push.KeyGivenUp, push.KeyAbsent}
		for i, s := range states {
			put(t, client, keyOf(i), heldBy("me", 1))
			for _, call := range []string{"first", "repeated"} {
				if !mine(t, keys.Settle(t.Context(), []push.KeySettle{settle(keyOf(i), "me", s, i)})) {
					t.Errorf("%v: %s settle was not mine", s, call)
				}
			}
			info := inspect(t, keys, keyOf(i))
			if info.State != s || info.Owner != "" || info.Earlier != push.KeyAbsent {
				t.Errorf("%v: %+v", s, info)
			}
			if s != push.KeyAbsent && (info.Attempt != i || !info.SettledAt.Equal(settledAt) || !near(info.TTL, window)) {
				t.Errorf("%v: %+v", s, info)
			}
		}
	})
}

func TestK1R1N1NonOwnerChangesNothing(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		tests := map[string]struct {
			key     fields
			release bool // "nobody holds it" is what a release asks for
		}{
			"other's, running":    {heldBy("other", now(t, client)+20_000), false},
			"other's, lease over": {heldBy("other", 1), false},
			"settled":             {settled(push.KeyFailed, 1), true},
			"absent":              {nil, true},
		}
		for name, tt := range tests {
			key := "push:dedup:resume_viewed:" + push.EncodeKeyPart(name) + ":sms"
			put(t, client, key, tt.key)
			before := inspect(t, keys, key)
			hold := []push.KeyHold{{Key: key, Owner: "me"}}

			if mine(t, keys.Settle(t.Context(), []push.KeySettle{settle(key, "me", push.KeySuccess, 1)})) {
				t.Errorf("%s: settle was mine", name)
			}
			if got := mine(t, keys.Release(t.Context(), hold)); got != tt.release {
				t.Errorf("%s: release: %v", name, got)
			}
			if mine(t, keys.Renew(t.Context(), hold)) {
				t.Errorf("%s: renewal was mine", name)
			}
			if after := inspect(t, keys, key); after.text != before.text {
				t.Errorf("%s: the key went from %+v to %+v", name, before, after)
			}
		}
	})
}

func TestR1ReleaseGoesBackToTheEarlierSettledState(t *testing.T) {
	t.Parallel()
	after := settledAt.Add(window + time.Second)
	overdue := func(back push.KeyState, attempt int) fields {
		f := heldBy("other", 1)
		f["b"], f["a"], f["t"] = int(back), attempt, settledAt.UnixMilli()
		return f
	}
	tests := []struct {
		name    string
		key     fields
		retry   *push.Retry
		record  time.Time
		state   push.KeyState
		attempt int
	}{
		{"from absent", nil, nil, after, push.KeyAbsent, 0},
		{"from failed, for a retry", settled(push.KeyFailed, 1), retry(2), after, push.KeyFailed, 1},
		{"from success, after its window", settled(push.KeySuccess, 4), nil, after, push.KeySuccess, 4},
		{"from unknown, for a retry", settled(push.KeyUnknown, 2), retry(2), settledAt, push.KeyUnknown, 2},
		{"taken over", heldBy("other", 1), nil, settledAt, push.KeyAbsent, 0},
		{"taken over, settled before that", overdue(push.KeyFailed, 1), retry(2), settledAt, push.KeyFailed, 1},
		{"from failed of the round before", settled(push.KeyFailed, 3), nil, after, push.KeyAbsent, 0},
		{"taken over, failed in the round before", overdue(push.KeyFailed, 3), nil, after, push.KeyAbsent, 0},
	}
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		for i, tt := range tests {
			key := keyOf(i)
			put(t, client, key, tt.key)
			g := keys.Claim(t.Context(), []push.Claim{{Key: key, Owner: "me", Retry: tt.retry, RecordTime: tt.record, Window: window}})[0]
			if g.Verdict != push.Granted {
				t.Fatalf("%s: %+v", tt.name, g)
			}
			for _, call := range []string{"first", "repeated"} {
				if !mine(t, keys.Release(t.Context(), []push.KeyHold{{Key: key, Owner: "me"}})) {
					t.Errorf("%s: %s release was not mine", tt.name, call)
				}
			}
			info := inspect(t, keys, key)
			if info.State != tt.state || info.Attempt != tt.attempt || info.Owner != "" {
				t.Errorf("%s: %+v", tt.name, info)
			}
			if tt.state != push.KeyAbsent && (!info.SettledAt.Equal(settledAt) || info.TTL <= 0) {
				t.Errorf("%s: %+v", tt.name, info)
			}
		}
	})
}

func TestN1RenewExtendsAlsoALeaseThatIsOver(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, 2*time.Hour) // longer than the TTL that put leaves
		for name, end := range map[string]int64{"running": now(t, client) + 1000, "over": 1} {
			key := "push:dedup:resume_viewed:" + name + ":sms"
			put(t, client, key, heldBy("me", end))
			if !mine(t, keys.Renew(t.Context(), []push.KeyHold{{Key: key, Owner: "me"}})) {
				t.Errorf("%s: not mine", name)
			}
			if info := inspect(t, keys, key); info.LeaseLeft < 119*time.Minute || info.TTL < info.LeaseLeft {
				t.Errorf("%s: %+v", name, info)
			}
		}
	})
}

func TestGarbageKeysAreReplaced(t *testing.T) {
	t.Parallel()
	garbage := map[string]func(ctx context.Context, c redis.UniversalClient, key string) error{
		"string": func(ctx context.Context, c redis.UniversalClient, key string) error {
			return c.Set(ctx, key, "1", 0).Err()
		},
		"set": func(ctx context.Context, c redis.UniversalClient, key string) error {
			return c.SAdd(ctx, key, "1").Err()
		},
		"no state":             hset(fields{"o": "x", "b": "1", "t": "1", "a": "1"}),
		"unknown state":        hset(fields{"s": "7", "a": "1", "t": "1"}),
		"state no number":      hset(fields{"s": "done", "a": "1", "t": "1"}),
		"settled without time": hset(fields{"s": "1", "a": "1"}),
		"attempt no number":    hset(fields{"s": "2", "a": "x", "t": "1"}),
		"held by nobody":       hset(fields{"s": "0", "l": "99999999999999", "a": "0", "w": "-1"}),
		"held for ever":        hset(fields{"s": "0", "o": "x", "l": "99999999999999", "a": "0", "w": "-1"}),
		"held without end":     hset(fields{"s": "0", "o": "x", "a": "0", "w": "-1"}),
	}
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		for name, spoil := range garbage {
			key := "push:dedup:resume_viewed:" + push.EncodeKeyPart(name) + ":sms"
			if err := spoil(t.Context(), client, key); err != nil {
				t.Fatal(err)
			}
			if info := inspect(t, keys, key); info.Foreign != (name != "held for ever") {
				t.Errorf("%s: %+v", name, info)
			}
			hold := push.KeyHold{Key: key, Owner: "me"}
			if mine(t, keys.Renew(t.Context(), []push.KeyHold{hold})) {
				t.Errorf("%s: renewed", name)
			}
			g := keys.Claim(t.Context(), []push.Claim{{Key: key, Owner: "me", Window: window}})[0]
			if g.Verdict != push.Granted || g.Err != nil {
				t.Errorf("%s: %+v", name, g)
			}
			if info := inspect(t, keys, key); info.Owner != "me" || info.Earlier != push.KeyAbsent || info.TTL <= 0 {
				t.Errorf("%s: %+v", name, info)
			}
			if !mine(t, keys.Release(t.Context(), []push.KeyHold{hold})) || inspect(t, keys, key).State != push.KeyAbsent {
				t.Errorf("%s: not released", name)
			}
		}
	})
}

func hset(f fields) func(ctx context.Context, c redis.UniversalClient, key string) error {
	return func(ctx context.Context, c redis.UniversalClient, key string) error {
		return c.HSet(ctx, key, map[string]any(f)).Err()
	}
}

func TestSettleRefusesWhatIsNoSettledState(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		put(t, client, keyOf(1), heldBy("me", 1))
		put(t, client, keyOf(2), heldBy("me", 1))

		got := keys.Settle(t.Context(), []push.KeySettle{
			settle(keyOf(1), "me", push.KeyProcessing, 1), settle(keyOf(2), "me", push.KeySuccess, 1),
		})

		if got[0].Err == nil || got[0].Mine || !strings.HasPrefix(got[0].Err.Error(), "settling push:dedup:resume_viewed:…:sms: ") {
			t.Errorf("%+v", got[0])
		}
		if got[1].Err != nil || !got[1].Mine {
			t.Errorf("the neighbour's failure is shared: %+v", got[1])
		}
	})
}

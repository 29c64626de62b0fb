package dedup

import (
	"testing"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
)

// deliver takes key n through claim and settle, and returns the grant.
func deliver(t *testing.T, keys *Keys, n int) push.Grant {
	t.Helper()
	c := claims(n, n+1)[0]
	g := keys.Claim(t.Context(), []push.Claim{c})[0]
	if g.Err != nil {
		t.Fatal(g.Err)
	}
	if g.Verdict == push.Granted && !mine(t, keys.Settle(t.Context(), []push.KeySettle{settle(c.Key, c.Owner, push.KeySuccess, 1)})) {
		t.Fatal("settle was not mine")
	}
	return g
}

func TestFieldReport16a_TheSecondDeliveryIsAQuietDuplicate(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		if g := deliver(t, keys, 1); g.Verdict != push.Granted {
			t.Fatalf("%+v", g)
		}
		if g := deliver(t, keys, 1); g != (push.Grant{Verdict: push.Duplicate, Before: push.KeySuccess, Attempt: 1}) {
			t.Errorf("%+v", g)
		}
	})
}

func TestFieldReport16b_ScriptFlushBetweenTwoDeliveries(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		for n := range 3 {
			if g := deliver(t, keys, n); g.Verdict != push.Granted {
				t.Errorf("%+v", g)
			}
			client.ScriptFlush(t.Context())
		}
	})
}

func TestFieldReport16c_RedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	keys := New(connect(t, Config{Addrs: []string{server.addr}}), lease)
	if g := deliver(t, keys, 1); g.Verdict != push.Granted {
		t.Fatalf("%+v", g)
	}
	server.stop()
	server.start(t)
	for _, n := range []int{2, 1} { // the forgotten one is granted too: the row knows it
		if g := deliver(t, keys, n); g.Verdict != push.Granted || g.Before != push.KeyAbsent {
			t.Errorf("%+v", g)
		}
	}
}

func TestFieldReport20_NoKeyIsEverWithoutTTL(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, 700*time.Microsecond) // would be 0 ms if it were cut
		for _, w := range []time.Duration{0, time.Microsecond, 1500 * time.Microsecond, 10 * time.Second} {
			c := push.Claim{Key: keyOf(1), Owner: "me", RecordTime: time.Now(), Window: w}
			client.Del(t.Context(), c.Key)
			hold := push.KeyHold{Key: c.Key, Owner: c.Owner}
			step := map[string]func(){
				"claim": func() { keys.Claim(t.Context(), []push.Claim{c}) },
				"renew": func() { keys.Renew(t.Context(), []push.KeyHold{hold}) },
				"settle": func() {
					keys.Settle(t.Context(), []push.KeySettle{{KeyHold: hold, Settlement: push.Settlement{State: push.KeyFailed}, Window: w}})
				},
				"release": func() { keys.Release(t.Context(), []push.KeyHold{hold}) },
			}
			for _, name := range []string{"claim", "renew", "settle", "claim", "release", "claim", "release"} {
				step[name]()
				if ttl := client.PTTL(t.Context(), c.Key).Val(); ttl == -1 {
					t.Errorf("window %v: no TTL after %s", w, name)
				}
			}
		}
	})
}

func TestFieldReport20_TheNextHoldersClaimIsUntouchable(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		short, keys := New(client, 20*time.Millisecond), New(client, lease)
		claim := func(k *Keys, owner string) push.Grant {
			return k.Claim(t.Context(), []push.Claim{{Key: keyOf(1), Owner: owner, Window: window}})[0]
		}
		claim(short, "a")
		for claim(keys, "b").Verdict == push.Busy { // until a's lease is over
			time.Sleep(time.Millisecond)
		}

		a := push.KeyHold{Key: keyOf(1), Owner: "a"}
		if mine(t, keys.Release(t.Context(), []push.KeyHold{a})) || mine(t, keys.Renew(t.Context(), []push.KeyHold{a})) ||
			mine(t, keys.Settle(t.Context(), []push.KeySettle{settle(a.Key, a.Owner, push.KeyFailed, 1)})) {
			t.Error("a still holds the key")
		}
		if g := claim(keys, "c"); g.Verdict != push.Busy {
			t.Errorf("a third claim while b works: %+v", g)
		}
		if info := inspect(t, keys, keyOf(1)); info.Owner != "b" || info.LeaseLeft <= 0 {
			t.Errorf("b's key says %+v", info)
		}
	})
}

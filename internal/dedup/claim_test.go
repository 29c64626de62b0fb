package dedup

import (
	"testing"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
)

const (
	lease  = 30 * time.Second
	window = time.Hour
)

// fields is a key as Redis keeps it; see key.lua.
type fields map[string]any

// settledAt is when the settled keys of these tests settled.
var settledAt = time.UnixMilli(1_700_000_000_123)

func settled(s push.KeyState, attempt int) fields {
	return fields{"s": int(s), "a": attempt, "t": settledAt.UnixMilli()}
}

// heldBy is a key that a claim took from an absent one; its lease ends at end, by Redis's clock.
func heldBy(owner string, end int64) fields {
	return fields{"s": 0, "o": owner, "l": end, "a": 0, "w": -1}
}

func put(t testing.TB, client redis.UniversalClient, key string, f fields) {
	t.Helper()
	if f == nil {
		return
	}
	if err := client.HSet(t.Context(), key, map[string]any(f)).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Expire(t.Context(), key, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
}

func inspect(t testing.TB, k *Keys, key string) KeyInfo {
	t.Helper()
	info, err := k.Inspect(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func retry(attempt int) *push.Retry { return &push.Retry{Round: 1, Attempt: attempt} }

// claimCase is a key, a claim on it, and the answer.
type claimCase struct {
	name   string
	key    func(now int64) fields // nil: absent
	retry  *push.Retry
	record time.Time
	want   push.Grant
}

func claimCases() []claimCase {
	inWindow, last, after := settledAt.Add(time.Minute), settledAt.Add(window), settledAt.Add(window+time.Millisecond)
	granted := func(before push.KeyState, attempt int) push.Grant {
		return push.Grant{Verdict: push.Granted, Before: before, Attempt: attempt}
	}
	duplicate := func(before push.KeyState, attempt int) push.Grant {
		return push.Grant{Verdict: push.Duplicate, Before: before, Attempt: attempt}
	}
	return []claimCase{
		{"C1 absent", nil, nil, inWindow, granted(push.KeyAbsent, 0)},
		{"C1 lease over", func(now int64) fields { return heldBy("other", now) }, nil, inWindow, granted(push.KeyProcessing, 0)},
		{"C1 lease end beyond any possible: the clock went back",
			func(now int64) fields { return heldBy("other", now+int64(time.Hour/time.Millisecond)) }, nil, inWindow,
			granted(push.KeyProcessing, 0)},
		{"C1 success, after its window", of(push.KeySuccess, 3), nil, after, granted(push.KeySuccess, 3)},
		{"C1 given up, after its window", of(push.KeyGivenUp, 5), nil, after, granted(push.KeyGivenUp, 5)},
		{"C2 success", of(push.KeySuccess, 1), nil, inWindow, duplicate(push.KeySuccess, 1)},
		{"C2 success, the window's last millisecond", of(push.KeySuccess, 1), nil, last, duplicate(push.KeySuccess, 1)},
		{"C2 success, an older record", of(push.KeySuccess, 1), nil, settledAt.Add(-window), duplicate(push.KeySuccess, 1)},
		{"C2 success, a record without time", of(push.KeySuccess, 1), nil, time.Time{}, duplicate(push.KeySuccess, 1)},
		{"C2 failed", of(push.KeyFailed, 2), nil, inWindow, duplicate(push.KeyFailed, 2)},
		{"C2 unknown", of(push.KeyUnknown, 1), nil, inWindow, duplicate(push.KeyUnknown, 1)},
		{"C2 given up", of(push.KeyGivenUp, 1), nil, inWindow, duplicate(push.KeyGivenUp, 1)},
		{"C3 absent", nil, retry(2), inWindow, granted(push.KeyAbsent, 0)},
		{"C3 lease over", func(now int64) fields { return heldBy("other", now) }, retry(2), inWindow, granted(push.KeyProcessing, 0)},
		{"C3 success", of(push.KeySuccess, 2), retry(2), inWindow, granted(push.KeySuccess, 2)},
		{"C3 unknown", of(push.KeyUnknown, 2), retry(2), inWindow, granted(push.KeyUnknown, 2)},
		{"C3 given up", of(push.KeyGivenUp, 2), retry(2), inWindow, granted(push.KeyGivenUp, 2)},
		{"C3 failed before", of(push.KeyFailed, 1), retry(2), inWindow, granted(push.KeyFailed, 1)},
		{"C3 failed long before", of(push.KeyFailed, 1), retry(4), inWindow, granted(push.KeyFailed, 1)},
		{"C4 failed at it", of(push.KeyFailed, 2), retry(2), inWindow, duplicate(push.KeyFailed, 2)},
		{"C4 failed past it", of(push.KeyFailed, 3), retry(2), after, duplicate(push.KeyFailed, 3)},
		{"C5 mine", func(now int64) fields { return heldBy("me", now+1000) }, nil, inWindow, granted(push.KeyAbsent, 0)},
		{"C5 mine, lease over", func(now int64) fields { return heldBy("me", now-1000) }, retry(2), inWindow, granted(push.KeyAbsent, 0)},
		{"C6 main", func(now int64) fields { return heldBy("other", now+20_000) }, nil, after,
			push.Grant{Verdict: push.Busy, Before: push.KeyProcessing}},
		{"C6 retry", func(now int64) fields { return heldBy("other", now+20_000) }, retry(9), after,
			push.Grant{Verdict: push.Busy, Before: push.KeyProcessing}},
	}
}

func TestClaimRules(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		for i, tt := range claimCases() {
			key := keyOf(i)
			if tt.key != nil {
				put(t, client, key, tt.key(now(t, client)))
			}
			before := inspect(t, keys, key)

			claim := push.Claim{Key: key, Owner: "me", Retry: tt.retry, RecordTime: tt.record, Window: window}
			got := keys.Claim(t.Context(), []push.Claim{claim})[0]

			left := got.LeaseLeft
			got.LeaseLeft = 0
			if got != tt.want {
				t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
			}
			if busy := tt.want.Verdict == push.Busy; busy != (left > 0) || left > 20*time.Second {
				t.Errorf("%s: lease left %v", tt.name, left)
			}
			info := inspect(t, keys, key)
			switch {
			case tt.want.Verdict == push.Granted && (info.Owner != "me" || !near(info.LeaseLeft, lease) || !near(info.TTL, window)):
				t.Errorf("%s: granted, and the key says %+v", tt.name, info)
			case tt.want.Verdict != push.Granted && info.text != before.text:
				t.Errorf("%s: refused, and the key went from %+v to %+v", tt.name, before, info)
			}
		}
	})
}

func of(s push.KeyState, attempt int) func(int64) fields {
	return func(int64) fields { return settled(s, attempt) }
}

func TestC5AnswersTheSameAgain(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		put(t, client, keyOf(1), settled(push.KeyFailed, 3))
		put(t, client, keyOf(2), heldBy("other", 1))
		claims := []push.Claim{{Key: keyOf(1), Owner: "a", Retry: retry(4)}, {Key: keyOf(2), Owner: "b"}, {Key: keyOf(3), Owner: "c"}}

		first, second := keys.Claim(t.Context(), claims), keys.Claim(t.Context(), claims)

		for i := range claims {
			if first[i] != second[i] || first[i].Verdict != push.Granted {
				t.Errorf("first %+v, again %+v", first[i], second[i])
			}
		}
	})
}

func TestLeaseOf500msIsHonouredToTheMillisecond(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, 500*time.Millisecond)
		start := now(t, client)
		claim := func(owner string) push.Grant {
			return keys.Claim(t.Context(), []push.Claim{{Key: keyOf(1), Owner: owner, Window: window}})[0]
		}
		if g := claim("a"); g.Verdict != push.Granted {
			t.Fatalf("%+v", g)
		}
		for {
			before := now(t, client)
			g := claim("b")
			elapsed := now(t, client) - start
			if g.Verdict == push.Granted {
				if elapsed < 500 {
					t.Errorf("taken over after %d ms", elapsed)
				}
				return
			}
			if g.Err != nil || g.LeaseLeft <= 0 || g.LeaseLeft > 500*time.Millisecond || before-start > 2000 {
				t.Fatalf("after %d ms: %+v", before-start, g)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestOfManyClaimsAtOnceOneIsGranted(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		verdicts := make(chan push.Verdict)
		for range 40 { // the loop below waits for all of them
			go func() { verdicts <- keys.Claim(t.Context(), claims(1, 2))[0].Verdict }()
		}
		count := map[push.Verdict]int{}
		for range 40 {
			count[<-verdicts]++
		}
		if count[push.Granted] != 1 || count[push.Busy] != 39 {
			t.Errorf("verdicts %v", count)
		}
	})
}

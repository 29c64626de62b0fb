package dedup

import (
	"testing"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
)

func TestInspectTellsAllAndChangesNothing(t *testing.T) {
	t.Parallel()
	failed := KeyInfo{Key: keyOf(1), State: push.KeyFailed, Attempt: 3, SettledAt: settledAt, Earlier: push.KeyAbsent}
	claimed := failed
	claimed.State, claimed.Owner, claimed.Earlier = push.KeyProcessing, "me", push.KeyFailed
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		look := func(want KeyInfo, left, ttl time.Duration) {
			t.Helper()
			for range 2 {
				got := inspect(t, keys, keyOf(1))
				if near(got.LeaseLeft, left) && near(got.TTL, ttl) {
					got.LeaseLeft, got.TTL, got.text = 0, 0, ""
				}
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
		}
		look(KeyInfo{Key: keyOf(1), State: push.KeyAbsent, Earlier: push.KeyAbsent}, 0, 0)
		put(t, client, keyOf(1), settled(push.KeyFailed, 3))
		look(failed, 0, time.Hour)
		keys.Claim(t.Context(), []push.Claim{{Key: keyOf(1), Owner: "me", Retry: retry(4), Window: 2 * window}})
		look(claimed, lease, 2*window)
	})
}

// near says whether got is what a while ago was want.
func near(got, want time.Duration) bool { return got <= want && got >= want-10*time.Second }

func TestQ8RepairOnlyWhatIsUnchangedAndNotHeld(t *testing.T) {
	t.Parallel()
	row := push.Settlement{State: push.KeySuccess, Attempt: 2, At: settledAt}
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		running := heldBy("other", now(t, client)+20_000)
		tests := []struct {
			name         string
			seen, change fields
			to           push.Settlement
			want         bool
		}{
			{"settled otherwise", settled(push.KeyFailed, 1), nil, row, true},
			{"lease over", heldBy("other", 1), nil, row, true},
			{"absent", nil, nil, row, true},
			{"to be deleted", settled(push.KeySuccess, 1), nil, push.Settlement{State: push.KeyAbsent}, true},
			{"says so already", settled(push.KeyFailed, 1), settled(push.KeySuccess, 2), row, true},
			{"lease running", running, nil, row, false},
			{"settled since", settled(push.KeyFailed, 1), settled(push.KeyFailed, 2), row, false},
			{"claimed since", nil, heldBy("other", 1), row, false},
		}
		for i, tt := range tests {
			key := keyOf(i)
			put(t, client, key, tt.seen)
			seen := inspect(t, keys, key)
			put(t, client, key, tt.change)
			before := inspect(t, keys, key)

			if got := mine(t, keys.Repair(t.Context(), []Repair{{Seen: seen, Settlement: tt.to, Window: window}})); got != tt.want {
				t.Errorf("%s: %v", tt.name, got)
			}
			after := inspect(t, keys, key)
			switch {
			case !tt.want && after.text != before.text:
				t.Errorf("%s: the key went from %+v to %+v", tt.name, before, after)
			case tt.want && (after.State != tt.to.State || after.Attempt != tt.to.Attempt):
				t.Errorf("%s: %+v", tt.name, after)
			}
		}
	})
}

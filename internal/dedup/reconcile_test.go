package dedup

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
)

// deliveryOf names the delivery of keyOf(n).
func deliveryOf(n int) push.Identity {
	return push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: strconv.Itoa(n), Action: push.SMS}
}

func TestQ8KeysAreBroughtToWhatTheirRowsSay(t *testing.T) {
	t.Parallel()
	row := func(s push.Status, attempt int) push.Row {
		return push.Row{ID: 1, Status: s, Attempt: attempt, SettledAt: settledAt, UpdatedAt: settledAt}
	}
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		running := heldBy("other", now(t, client)+20_000)
		tests := []struct {
			name     string
			key      fields
			row      push.Row
			state    push.KeyState
			attempt  int
			repaired bool
		}{
			{"key lost", nil, row(push.Sent, 1), push.KeySuccess, 1, true},
			{"key older than the row, after a failover", settled(push.KeyFailed, 1), row(push.Sent, 2), push.KeySuccess, 2, true},
			{"claim of a worker that died", heldBy("dead", 1), row(push.Sent, 1), push.KeySuccess, 1, true},
			{"success, and the row failed", settled(push.KeySuccess, 1), row(push.Failed, 3), push.KeyFailed, 3, true},
			{"success, and the row queued", settled(push.KeySuccess, 1), row(push.Queued, 3), push.KeyFailed, 2, true},
			{"would discard the retry that is due", settled(push.KeyFailed, 3), row(push.Queued, 3), push.KeyFailed, 2, true},
			{"given up, and an operator reopened", settled(push.KeyGivenUp, 3), row(push.Queued, 4), push.KeyFailed, 3, true},
			{"a person's SET", fields{"s": "hello"}, row(push.Unknown, 1), push.KeyUnknown, 1, true},
			{"agree", settled(push.KeySuccess, 2), row(push.Sent, 2), push.KeySuccess, 2, false},
			{"held", running, row(push.Sent, 1), push.KeyProcessing, 1, false},
			{"row sending", settled(push.KeyFailed, 1), row(push.Sending, 2), push.KeyFailed, 1, false},
			{"no row", settled(push.KeyFailed, 1), push.Row{}, push.KeyFailed, 1, false},
		}
		for i, tt := range tests {
			put(t, client, keyOf(i), tt.key)
			before := inspect(t, keys, keyOf(i))
			look := func(_ context.Context, asked []push.Lookup) []push.Answer {
				answers := make([]push.Answer, len(asked))
				for i := range answers {
					answers[i].Row = tt.row
				}
				return answers
			}
			got, err := keys.Reconcile(t.Context(), []push.Identity{deliveryOf(i)}, hour, look)
			if err != nil || got.KeysChecked != 1 || (got.KeysRepaired == 1) != tt.repaired {
				t.Errorf("%s: %+v, %v", tt.name, got, err)
			}
			after := inspect(t, keys, keyOf(i))
			if after.State != tt.state || tt.repaired && (after.Attempt != tt.attempt || after.TTL <= 0 || after.TTL > time.Hour) ||
				!tt.repaired && after.text != before.text {
				t.Errorf("%s: the key says %+v", tt.name, after)
			}
		}
	})
}

func hour(push.Identity) time.Duration { return time.Hour }

func TestQ8AKeyThatChangesWhileTheRowIsReadIsLeftAlone(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		put(t, client, keyOf(1), settled(push.KeyFailed, 1))
		look := func(context.Context, []push.Lookup) []push.Answer {
			put(t, client, keyOf(1), settled(push.KeyFailed, 2))
			return []push.Answer{{Row: push.Row{ID: 1, Status: push.Failed, Attempt: 1, UpdatedAt: settledAt.Add(time.Second)}}}
		}
		got, err := keys.Reconcile(t.Context(), []push.Identity{deliveryOf(1)}, hour, look)
		if err != nil || got.KeysRepaired != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if after := inspect(t, keys, keyOf(1)); after.Attempt != 2 {
			t.Errorf("the key went back: %+v", after)
		}
	})
}

func TestARowThatCannotBeReadLeavesItsKeyAlone(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, client redis.UniversalClient) {
		keys := New(client, lease)
		unread := func(_ context.Context, asked []push.Lookup) []push.Answer {
			return []push.Answer{{Row: push.Row{ID: 1, Status: push.Sent}, Err: errors.New("away")}}
		}
		if got, err := keys.Reconcile(t.Context(), []push.Identity{deliveryOf(1)}, hour, unread); err != nil || got.KeysRepaired != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestARedisThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer func() { _ = client.Close() }()
	never := func(context.Context, []push.Lookup) []push.Answer { t.Error("rows were read"); return nil }
	got, err := New(client, lease).Reconcile(t.Context(), []push.Identity{deliveryOf(1)}, hour, never)
	if err == nil || got != (push.Tally{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

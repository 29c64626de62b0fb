package dedup

import (
	"context"
	"time"

	"pusher/internal/push"

	"github.com/redis/go-redis/v9"
)

// Keys are the dedup keys in one Redis. Its methods take a batch, send it as one pipeline, and answer item by item: a
// failure of one says nothing about the others. Safe for concurrent use.
type Keys struct {
	client redis.UniversalClient
	lease  time.Duration

	claim, renew, settle, release, repair, inspect script
}

// New returns the keys in the Redis of client. A claim holds for lease, counted in milliseconds by Redis's own clock.
func New(client redis.UniversalClient, lease time.Duration) *Keys {
	return &Keys{
		client: client, lease: lease,
		claim: newScript(claimLua), renew: newScript(renewLua), settle: newScript(becomeLua, settleLua),
		release: newScript(becomeLua, releaseLua), repair: newScript(becomeLua, textLua, repairLua),
		inspect: newScript(textLua, inspectLua),
	}
}

// Claim asks for the permission to try each delivery (rules C1 to C6). An answer that fails says nothing of the key:
// claiming again with the same owner is safe.
func (k *Keys) Claim(ctx context.Context, claims []push.Claim) []push.Grant {
	calls := make([]call, len(claims))
	args := make([]any, 0, len(claims)*claimArgs)
	times := make([]int64, len(claims))
	var lease any = ms(k.lease)
	var window arg
	for i := range claims {
		c := &claims[i] // of which arguments are parts, so that none of them has to be copied
		retry := 0
		if c.Retry != nil {
			retry = c.Retry.Attempt
		}
		times[i] = c.RecordTime.UnixMilli()
		args = append(args, &c.Owner, lease, window.of(ms(c.Window)), &times[i], retry)
		calls[i] = call{"claiming", k.claim, c.Key, args[len(args)-claimArgs:]}
	}
	grants := make([]push.Grant, len(claims))
	for i, r := range run(ctx, k.client, calls) {
		if r.err != nil {
			grants[i].Err = r.err
			continue
		}
		grants[i] = push.Grant{
			Verdict:   push.Verdict(r.number(0)),
			Before:    push.KeyState(r.number(1)),
			Attempt:   int(r.number(2)),
			LeaseLeft: time.Duration(r.number(3)) * time.Millisecond,
		}
	}
	return grants
}

// Renew extends each claim that its owner still holds (rule N1). Not Mine: another owner, or nobody, has the key.
func (k *Keys) Renew(ctx context.Context, holds []push.KeyHold) []push.KeyAnswer {
	calls := make([]call, len(holds))
	for i, h := range holds {
		calls[i] = call{"renewing", k.renew, h.Key, []any{h.Owner, ms(k.lease)}}
	}
	return answers(run(ctx, k.client, calls))
}

// Release gives each claim back (rule R1): the key is again the earlier settled state, or gone. Mine also when nobody
// holds the key any more.
func (k *Keys) Release(ctx context.Context, holds []push.KeyHold) []push.KeyAnswer {
	calls := make([]call, len(holds))
	for i, h := range holds {
		calls[i] = call{"releasing", k.release, h.Key, []any{h.Owner}}
	}
	return answers(run(ctx, k.client, calls))
}

// Settle makes each key that its owner holds say what the row said (rule K1), for its window from now. Mine also when
// the key already says just that.
func (k *Keys) Settle(ctx context.Context, settles []push.KeySettle) []push.KeyAnswer {
	calls := make([]call, len(settles))
	args := make([]any, 0, len(settles)*settleArgs)
	times := make([]int64, len(settles))
	var life arg
	for i := range settles {
		s := &settles[i]
		times[i] = s.At.UnixMilli()
		args = append(args, &s.Owner, int(s.State), s.Attempt, &times[i], life.of(k.life(s.Window)))
		calls[i] = call{"settling", k.settle, s.Key, args[len(args)-settleArgs:]}
	}
	return answers(run(ctx, k.client, calls))
}

// life is how long a settled key lives, ms.
func (k *Keys) life(window time.Duration) int64 { return max(ms(window), ms(k.lease)) }

// How many arguments the scripts of the hot path take.
const (
	claimArgs  = 5
	settleArgs = 5
)

// arg makes a number an argument, anew only where it is another than before: most calls of a batch say the same.
type arg struct {
	n  int64
	as any
}

func (a *arg) of(n int64) any {
	if a.as == nil || a.n != n {
		a.n, a.as = n, n
	}
	return a.as
}

func answers(replies []reply) []push.KeyAnswer {
	out := make([]push.KeyAnswer, len(replies))
	for i, r := range replies {
		out[i] = push.KeyAnswer{Mine: r.number(0) == 1, Err: r.err}
	}
	return out
}

// ms is d in whole milliseconds, rounded up and never 0: a duration that is cut to 0 would make a key immortal, or a
// lease none.
func ms(d time.Duration) int64 {
	return max(1, int64((d+time.Millisecond-1)/time.Millisecond))
}

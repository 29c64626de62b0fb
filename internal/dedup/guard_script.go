package dedup

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/push"
)

// The guard's scripts; each file is headed by its contract. guard.lua comes before every one of them.
var (
	//go:embed guard.lua
	guardLua string
	//go:embed guard_claim.lua
	guardClaimLua string
	//go:embed guard_renew.lua
	guardRenewLua string
	//go:embed guard_settle.lua
	guardSettleLua string
	//go:embed guard_release.lua
	guardReleaseLua string
	//go:embed guard_issue.lua
	guardIssueLua string
)

// The states of a guarded call's key, and what a claim may find: -1 is no key.
const (
	callAbsent     = -1
	callProcessing = 0
	callSuccess    = 1
	callFailed     = 2
	callUnknown    = 3
	callIssued     = 5
)

// The verdicts of guard_claim.lua.
const (
	callGranted = iota + 1
	callRepeated
	callBusy
	callMismatch
	callSpent
)

// slip is one key that a call holds, or asks for.
type slip struct {
	key     string
	owner   string
	payload string // its fingerprint, without white space; empty: none is compared
}

// ending is what a settle says of a slip.
type ending struct {
	slip

	state  int
	answer []byte
	kept   bool // the answer is kept
}

// slips are guarded calls' keys in one Redis. Like Keys, its methods answer item by item.
type slips struct {
	client redis.UniversalClient
	lease  time.Duration
	life   time.Duration // of a key; 0: as long as it was issued for
	issued bool          // only issued keys may be claimed
	drop   bool          // success deletes the key
	open   bool          // an unknown outcome may be claimed at once

	claim, renew, settle, release, issue script
}

func newSlips(client redis.UniversalClient) slips {
	with := func(body string) script { return scriptOf(guardLua + body) }
	return slips{
		client: client, claim: with(guardClaimLua), renew: with(guardRenewLua), settle: with(guardSettleLua),
		release: with(guardReleaseLua), issue: with(guardIssueLua),
	}
}

// claims asks for each key.
func (s *slips) claims(ctx context.Context, held []slip) []reply {
	calls := make([]call, len(held))
	for i, h := range held {
		calls[i] = call{"claiming", s.claim, h.key, []any{h.owner, ms(s.lease), s.ttl(), h.payload, flag(s.issued), flag(s.open)}}
	}
	return run(ctx, s.client, calls)
}

// renews extends each lease.
func (s *slips) renews(ctx context.Context, held []slip) []reply {
	calls := make([]call, len(held))
	for i, h := range held {
		calls[i] = call{"renewing", s.renew, h.key, []any{h.owner, ms(s.lease)}}
	}
	return run(ctx, s.client, calls)
}

// settles says how each call ended.
func (s *slips) settles(ctx context.Context, ends []ending) []reply {
	calls := make([]call, len(ends))
	for i, e := range ends {
		state := e.state
		if state == callSuccess && s.drop {
			state = callAbsent
		}
		calls[i] = call{"settling", s.settle, e.key, []any{
			e.owner, state, s.ttl(), e.payload, flag(e.kept), e.answer, ms(s.lease),
		}}
	}
	return run(ctx, s.client, calls)
}

// releases gives each key back.
func (s *slips) releases(ctx context.Context, held []slip) []reply {
	calls := make([]call, len(held))
	for i, h := range held {
		calls[i] = call{"releasing", s.release, h.key, []any{h.owner}}
	}
	return run(ctx, s.client, calls)
}

// ttl is the life of a key as the scripts take it.
func (s *slips) ttl() int64 {
	if s.life == 0 {
		return 0
	}
	return ms(s.life)
}

// flag is a yes or no as the scripts take it.
func flag(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// newSlip asks for a key in the name of a call of its own.
func newSlip(key, payload string) slip {
	return slip{key: key, owner: push.NewOwner(), payload: bounded(push.EncodeKeyPart(payload))}
}

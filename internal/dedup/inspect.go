package dedup

import (
	"context"
	"time"

	"pusher/internal/push"
)

// KeyInfo is all that a key says, for operators and for a repair.
type KeyInfo struct {
	Key       string
	State     push.KeyState
	Owner     string        // of a processing key
	Attempt   int           // of a processing key what it carried before the claim
	SettledAt time.Time     // by Postgres's clock, to the millisecond; zero when nothing was settled before
	LeaseLeft time.Duration // 0: over, or not processing
	Earlier   push.KeyState // of a processing key: the settled state that a release goes back to; else KeyAbsent
	TTL       time.Duration // 0: Redis keeps it for ever, which no script does
	Foreign   bool          // something stands there that is no dedup key; a claim replaces it

	text string // the key as it was read
}

// Inspect reads one key and changes nothing.
func (k *Keys) Inspect(ctx context.Context, key string) (KeyInfo, error) {
	r := k.inspectAll(ctx, []string{key})[0]
	if r.err != nil {
		return KeyInfo{}, r.err
	}
	return r.info(key), nil
}

// inspectAll reads many keys in one round trip.
func (k *Keys) inspectAll(ctx context.Context, keys []string) []reply {
	calls := make([]call, len(keys))
	for i, key := range keys {
		calls[i] = call{"inspecting", k.inspect, key, []any{ms(k.lease)}}
	}
	return run(ctx, k.client, calls)
}

// info is what an answer of inspect.lua says of the key.
func (r reply) info(key string) KeyInfo {
	info := KeyInfo{
		Key:       key,
		State:     push.KeyState(r.number(0)),
		Attempt:   int(r.number(1)),
		LeaseLeft: time.Duration(r.number(3)) * time.Millisecond,
		Earlier:   push.KeyState(r.number(4)),
		TTL:       time.Duration(max(0, r.number(5))) * time.Millisecond,
		Owner:     r.text(6),
		text:      r.text(7),
	}
	if at := r.number(2); at != 0 {
		info.SettledAt = time.UnixMilli(at)
	}
	info.Foreign = info.State == push.KeyAbsent && r.number(5) != pttlAbsent
	return info
}

// pttlAbsent is PTTL's answer for no key at all.
const pttlAbsent = -2

// Repair asks that a key which nobody holds say what the row says (rule Q8).
type Repair struct {
	Seen KeyInfo // read *before* the row
	push.Settlement

	Window time.Duration // the key lives this long again
}

// Repair sets each key that is still as it was seen, unless a claim's lease runs on it (rule Q8). Not Mine: it changed
// or is held, and nothing was done.
func (k *Keys) Repair(ctx context.Context, repairs []Repair) []push.KeyAnswer {
	calls := make([]call, len(repairs))
	for i, r := range repairs {
		calls[i] = call{"repairing", k.repair, r.Seen.Key, []any{
			r.Seen.text, int(r.State), r.Attempt, r.At.UnixMilli(), k.life(r.Window), ms(k.lease),
		}}
	}
	return answers(run(ctx, k.client, calls))
}

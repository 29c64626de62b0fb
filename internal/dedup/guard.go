package dedup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/push"
)

// guardPrefix starts every guarded call's key: push:guard:<name>:<key>.
const guardPrefix = "push:guard:"

// maxGuardKey bounds a key as its function gave it, in bytes; a longer one is hashed.
const maxGuardKey = 512

// GuardConfig says how calls with an In and an Out are told apart and remembered.
type GuardConfig[In, Out any] struct {
	Name string                   // part of every key, so that two guards never meet
	Key  func(In) (string, error) // what makes two calls the same; see Fields for an expression

	// Fingerprint is the payload as the key must not change it; nil or an empty one: whatever the payload, it is the
	// same call.
	Fingerprint func(In) (string, error)

	Window time.Duration // how long a call that ended is remembered
	Lease  time.Duration // how long a call whose process died holds its key; a watchdog renews it at a third

	MaxAnswer int // bytes of an encoded answer; a larger one is not kept. 0: none is
	Encode    func(Out) ([]byte, error)
	Decode    func([]byte) (Out, error) // both nil: JSON

	IssuedOnly      bool // only a key that Issue made may be claimed; Window does not count, it lives as long as it was issued for
	DeleteOnSuccess bool // success leaves no key: with IssuedOnly, a one-time token
	OpenUnknown     bool // an unknown outcome may be claimed at once, where something behind the handler catches repeats

	Observe func(Outcome) // told each call's outcome; nil: nobody listens
}

// Guard lets one call of a key through at a time, and one until it is forgotten: a wrapper around any handler. Redis
// arbitrates (docs/protocol.md, section 2: the same states, owner, lease and window); a Redis that forgets lets a call
// through again. Safe for concurrent use.
type Guard[In, Out any] struct {
	cfg  GuardConfig[In, Out]
	keys slips
}

// Client is the Redis that keys are kept in, as Connect and Open give it.
type Client = redis.UniversalClient

// NewGuard keeps a guard's keys in the Redis of client. The error names a setting that cannot work.
func NewGuard[In, Out any](client Client, cfg GuardConfig[In, Out]) (*Guard[In, Out], error) {
	switch {
	case cfg.Name == "" || cfg.Key == nil:
		return nil, errors.New("guarding calls: a name and a key are wanted")
	case cfg.Lease < 3*time.Millisecond:
		return nil, fmt.Errorf("guarding %s: the lease %v has no third", cfg.Name, cfg.Lease)
	case cfg.Window <= 0 && !cfg.IssuedOnly:
		return nil, fmt.Errorf("guarding %s: a window is wanted, so that no key lives for ever", cfg.Name)
	case (cfg.Encode == nil) != (cfg.Decode == nil):
		return nil, fmt.Errorf("guarding %s: encoding and decoding go together", cfg.Name)
	}
	if cfg.Encode == nil {
		cfg.Encode = func(out Out) ([]byte, error) { return json.Marshal(out) }
		cfg.Decode = func(text []byte) (out Out, err error) { return out, json.Unmarshal(text, &out) }
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Outcome) {}
	}
	g := &Guard[In, Out]{cfg: cfg, keys: newSlips(client)}
	g.keys.lease, g.keys.issued, g.keys.drop, g.keys.open = cfg.Lease, cfg.IssuedOnly, cfg.DeleteOnSuccess, cfg.OpenUnknown
	if !cfg.IssuedOnly {
		g.keys.life = cfg.Window
	}
	return g, nil
}

// Result is what one call of many came to.
type Result[Out any] struct {
	Value Out
	Err   error
}

// Do calls the handler unless the call was done before (ErrRepeated, beside the kept answer), is in progress elsewhere
// (ErrInProgress), belongs to another payload (ErrMismatch), is spent (ErrSpent), or cannot be claimed (ErrUnguarded).
// The key is settled only after the handler has returned, so after its own commit:
//
//	nil            success; the answer is kept, or the key deleted
//	Refuse(err)    failed; the same payload may claim it again
//	Doubt(err)     unknown, as after the end of a context: in progress until the lease ends, then open to the same payload
//	another error  given back, as after a panic, which goes on
//
// The handler's context ends, with the cause ErrLost, when the watchdog finds the key in another call's hands.
func (g *Guard[In, Out]) Do(ctx context.Context, in In, handle func(context.Context, In) (Out, error)) (Out, error) {
	r := g.DoAll(ctx, []In{in}, func(ctx context.Context, _ []int, results []Result[Out]) {
		results[0].Value, results[0].Err = handle(ctx, in)
	})
	return r[0].Value, r[0].Err
}

// DoAll is Do for many calls at once, whose keys go to Redis in one round trip each way. The handler gets the indexes of
// the calls that are its to do, and fills in their results; the others' stand there already. It is not called for none.
// Of two inputs with one key the second is in progress.
func (g *Guard[In, Out]) DoAll(
	ctx context.Context, ins []In, handle func(ctx context.Context, mine []int, results []Result[Out]),
) []Result[Out] {
	results := make([]Result[Out], len(ins))
	asked, at := g.slips(ins, results)
	began := time.Now()
	var mine []int
	var held []slip
	for i, r := range g.keys.claims(ctx, asked) {
		if r.err == nil && r.number(0) == callGranted {
			mine, held = append(mine, at[i]), append(held, asked[i])
			continue
		}
		results[at[i]] = g.refused(r)
	}
	if len(mine) > 0 {
		g.run(ctx, began, held, mine, results, handle)
	}
	return results
}

// slips makes the slip of each input; one without a key has its error in results already.
func (g *Guard[In, Out]) slips(ins []In, results []Result[Out]) (asked []slip, at []int) {
	asked, at = make([]slip, 0, len(ins)), make([]int, 0, len(ins))
	for i, in := range ins {
		s, err := g.slip(in)
		if err != nil {
			results[i].Err = err
			continue
		}
		asked, at = append(asked, s), append(at, i)
	}
	return asked, at
}

func (g *Guard[In, Out]) slip(in In) (slip, error) {
	key, err := g.cfg.Key(in)
	if err == nil && key == "" {
		err = errKey
	}
	var payload string
	if err == nil && g.cfg.Fingerprint != nil {
		payload, err = g.cfg.Fingerprint(in)
	}
	if err != nil {
		return slip{}, fmt.Errorf("reading the key of %s: %w", g.cfg.Name, err)
	}
	return newSlip(g.key(key), payload), nil
}

// key is a call's key in Redis.
func (g *Guard[In, Out]) key(key string) string {
	return guardPrefix + push.EncodeKeyPart(g.cfg.Name) + ":" + bounded(key)
}

// refused is what a claim that was not granted comes to.
func (g *Guard[In, Out]) refused(r reply) (result Result[Out]) {
	var outcome Outcome
	switch {
	case r.err != nil:
		outcome, result.Err = Unguarded, &UnguardedError{r.err}
	case r.number(0) == callRepeated:
		outcome = Repeated
		result.Value, result.Err = g.kept(r)
	case r.number(0) == callBusy:
		outcome = InProgress
		left := time.Duration(r.number(2)) * time.Millisecond
		result.Err = &InProgressError{Unknown: r.number(1) == callUnknown, Left: left}
	case r.number(0) == callMismatch:
		outcome, result.Err = Mismatch, ErrMismatch
	default:
		outcome, result.Err = Spent, ErrSpent
	}
	g.cfg.Observe(outcome)
	return result
}

// kept is the answer of the call that was done before. One that another version of the program cannot read counts as
// not kept.
func (g *Guard[In, Out]) kept(r reply) (out Out, err error) {
	if r.number(1) != 1 {
		return out, &RepeatedError{}
	}
	out, err = g.cfg.Decode([]byte(r.text(2)))
	if err != nil {
		return *new(Out), &RepeatedError{}
	}
	return out, &RepeatedError{Kept: true}
}

// run calls the handler under the watchdog and settles what it leaves behind. A panic goes through, once the keys are
// given back.
func (g *Guard[In, Out]) run(
	ctx context.Context, began time.Time, held []slip, mine []int, results []Result[Out],
	handle func(context.Context, []int, []Result[Out]),
) {
	guarded, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	dog := watch(context.WithoutCancel(ctx), &g.keys, held, began, lost)
	returned := false
	defer func() {
		dog.stop()
		if returned {
			g.settle(ctx, held, mine, results)
			return
		}
		for range held {
			g.cfg.Observe(GivenBack)
		}
		releasing, cancel := g.last(ctx)
		defer cancel()
		g.keys.releases(releasing, held) // nobody is left to be told of an error: the lease ends
	}()
	handle(guarded, mine, results)
	returned = true
}

// settle brings each key to what its call came to. What Redis cannot be told does not change the call's result.
func (g *Guard[In, Out]) settle(ctx context.Context, held []slip, mine []int, results []Result[Out]) {
	settling, cancel := g.last(ctx)
	defer cancel()
	var ends []ending
	var back []slip
	var endings, backs []Outcome
	for i, at := range mine {
		switch outcome := outcomeOf(results[at].Err); outcome {
		case GivenBack:
			back, backs = append(back, held[i]), append(backs, outcome)
		default:
			ends, endings = append(ends, g.ending(held[i], outcome, results[at].Value)), append(endings, outcome)
		}
	}
	g.tell(endings, g.keys.settles(settling, ends))
	g.tell(backs, g.keys.releases(settling, back))
}

// ending is what the key is told of a call that ended with the outcome.
func (g *Guard[In, Out]) ending(s slip, outcome Outcome, out Out) ending {
	e := ending{slip: s, state: callSuccess}
	switch outcome {
	case Refused:
		e.state = callFailed
	case Unknown:
		e.state = callUnknown
	default:
		if g.cfg.MaxAnswer > 0 && !g.cfg.DeleteOnSuccess {
			answer, err := g.cfg.Encode(out)
			if err == nil && len(answer) <= g.cfg.MaxAnswer {
				e.answer, e.kept = answer, true
			}
		}
	}
	return e
}

// tell counts the outcomes, as far as Redis took them.
func (g *Guard[In, Out]) tell(outcomes []Outcome, replies []reply) {
	for i, r := range replies {
		switch {
		case r.err != nil:
			g.cfg.Observe(Unsettled)
		case r.number(0) == 0:
			g.cfg.Observe(Lost)
		default:
			g.cfg.Observe(outcomes[i])
		}
	}
}

// last is the context of a call's last word to Redis: it outlives the caller, but not the lease.
func (g *Guard[In, Out]) last(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), g.cfg.Lease)
}

// Issue makes a one-time key that may be claimed until life is over (IssuedOnly). Doing so again with the same key is
// safe as long as it is not claimed.
func (g *Guard[In, Out]) Issue(ctx context.Context, key string, life time.Duration) error {
	r := run(ctx, g.keys.client, []call{{"issuing", g.keys.issue, g.key(key), []any{ms(life)}}})[0]
	if r.err == nil && r.number(0) != 1 {
		r.err = fmt.Errorf("issuing a key of %s: it is in use", g.cfg.Name)
	}
	return r.err
}

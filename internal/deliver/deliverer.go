package deliver

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// errOver is the cause of everything cut off after the grace period.
var errOver = errors.New("the grace period is over")

// Deliverer takes records through the pipeline. Handle feeds it; Quiesce and then Close end it.
type Deliverer struct {
	cfg Config

	claims   *batcher[push.Claim, push.Grant]
	settles  *batcher[push.KeySettle, push.KeyAnswer]
	releases *batcher[push.KeyHold, push.KeyAnswer]
	intents  *batcher[push.Intent, push.Answer]
	lost     *batcher[push.Intent, push.Answer]
	looks    *batcher[push.Lookup, push.Answer]
	results  *batcher[push.Result, push.Answer]
	undos    *batcher[push.Held, push.Answer]
	repeats  *batcher[push.Held, push.Answer]
	switches *batcher[push.Switch, push.Answer]

	flights  *flights
	watchdog *watchdog
	room     *semaphore.Weighted // deliveries admitted
	bytes    *semaphore.Weighted // bytes of their records
	slots    *semaphore.Weighted // requests out at providers
	shares   map[push.Action]*share
	spare    *spare // nil: what Redis does not answer waits

	alarms alarms

	life  context.Context //nolint:containedctx // the process's own life: SIGTERM must not end a write that matters
	end   context.CancelCauseFunc
	open  context.Context //nolint:containedctx // ends with Quiesce, or with life: what has not left by then is given back
	shut  context.CancelFunc
	halt  chan struct{} // closed by Close: the watchdog ends
	close sync.Once
	held  held           // what this process has in hand, for operators
	work  sync.WaitGroup // deliveries under way; Close waits for them
	crew  *crew          // batches and watchdog; Close waits for them
}

// New starts a Deliverer on its two stores.
func New(cfg Config, keys Keys, intents Intents, results Results) *Deliverer {
	life, end := context.WithCancelCause(context.Background())
	open, shut := context.WithCancel(life)
	var without *spare
	if cfg.Spare {
		without = &spare{Keys: keys, now: cfg.Now, told: cfg.redisTurned}
		keys = without
	}
	keyCall := cmp.Or(cfg.KeyCall, cfg.Call)
	crew := &crew{life: life, tracer: cfg.Tracer}
	d := &Deliverer{ // two batches at once where the hot path goes
		cfg:      cfg,
		claims:   newBatcher(crew, "claim", 2, keyCall, between(fault.BeforeClaim, fault.AfterClaim, keys.Claim, noGrant)),
		settles:  newBatcher(crew, "settle", 2, keyCall, between(fault.BeforeSettle, fault.AfterSettle, keys.Settle, noKeyAnswer)),
		releases: newBatcher(crew, "release", 1, keyCall, between(fault.BeforeRelease, fault.AfterRelease, keys.Release, noKeyAnswer)),
		intents:  newBatcher(crew, "intent", 2, cfg.Call, between(fault.BeforeIntent, fault.AfterIntent, intents.Intend, noAnswer)),
		lost:     newBatcher(crew, "undo_lost", 1, cfg.Call, between(fault.BeforeLost, fault.AfterLost, intents.UndoLost, noAnswer)),
		looks:    newBatcher(crew, "look", 1, cfg.Call, intents.Look),
		results:  newBatcher(crew, "result", 2, cfg.Call, between(fault.BeforeResult, fault.AfterResult, results.Record, noAnswer)),
		undos:    newBatcher(crew, "undo", 1, cfg.Call, between(fault.BeforeUndo, fault.AfterUndo, results.Undo, noAnswer)),
		repeats:  newBatcher(crew, "repeat", 1, cfg.Call, between(fault.BeforeRepeat, fault.AfterRepeat, results.Repeat, noAnswer)),
		switches: newBatcher(crew, "switch", 1, cfg.Call, between(fault.BeforeSwitch, fault.AfterSwitch, results.Switch, noAnswer)),
		flights:  newFlights(),
		room:     semaphore.NewWeighted(int64(cfg.Waiting)),
		bytes:    semaphore.NewWeighted(cfg.WaitingBytes),
		slots:    semaphore.NewWeighted(int64(cfg.InFlight)),
		shares:   newShares(cfg),
		spare:    without,
		crew:     crew,
		life:     life,
		end:      end,
		open:     open,
		shut:     shut,
		halt:     make(chan struct{}),
	}
	d.watchdog = &watchdog{
		keys: keys, rows: results, third: cfg.Lease / 3, now: cfg.Now, holds: make(map[*hold]struct{}),
	}
	crew.Go(func() { d.watchdog.run(life, d.halt) })
	return d
}

// Quiesce begins the end: claims whose request has not left are undone and given back, requests that are out end in
// their own time. It returns at once and may be called again.
func (d *Deliverer) Quiesce() { d.shut() }

// Close waits for what is under way, at most until ctx ends; then it cuts the rest off: rows left sending are looked
// after by the compensator. Handle must not be called any more.
func (d *Deliverer) Close(ctx context.Context) error {
	d.Quiesce()
	idle := make(chan struct{})
	go func() { // ends when work does, which end forces below
		d.work.Wait()
		close(idle)
	}()
	var err error
	select {
	case <-idle:
	case <-ctx.Done():
		if admitted, _, _ := d.Held(); admitted > 0 { // else the end of ctx cuts nothing off
			err = context.Cause(ctx)
		}
	}
	d.end(errOver)
	<-idle
	d.close.Do(func() { close(d.halt) })
	d.crew.Wait()
	return err
}

func (d *Deliverer) isStopping() bool { return d.open.Err() != nil }

// pause waits for wait, or less when ctx ends or Quiesce is called. It reports whether it waited to
// the end.
func (d *Deliverer) pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-d.open.Done():
	}
	return false
}

// held counts what a process has in hand.
type held struct {
	admitted, sending atomic.Int64
	bytes             atomic.Int64
}

// WithoutRedis reports whether the push log alone arbitrates now, since Redis does not answer.
func (d *Deliverer) WithoutRedis() bool { return d.spare != nil && d.spare.isAway() }

// Held says how many deliveries are admitted, how many of them have a request out at a provider, and how many bytes
// their records take.
func (d *Deliverer) Held() (admitted, sending int, bytes int64) {
	return int(d.held.admitted.Load()), int(d.held.sending.Load()), d.held.bytes.Load()
}

package compensate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// Config is what a pass needs to know; every field is required unless it says otherwise.
type Config struct {
	Policy          push.Policy
	RetryTopic      string
	DeadLetterTopic string
	Batch           int                               // rows a statement
	Budget          time.Duration                     // a pass takes up no new batch after this long; the next pass goes on
	KeepUnmatched   time.Duration                     // a receipt without delivery is deleted after this long
	Keep            time.Duration                     // finished rows are deleted this long after their settle; 0: never
	KeepInbox       time.Duration                     // in-app messages are deleted at this age; 0: never
	Call            time.Duration                     // the longest that writing one batch to Kafka may take
	Window          func(push.Identity) time.Duration // how long a delivery's key lives
	Rates           map[push.Action]float64           // requests a second that a channel takes; none, or nil: no limit
	Every           time.Duration                     // until the next pass, for which Rates are shared out
	Tracer          Tracer                            // nil: nobody looks
	Log             zerolog.Logger                    // one line for each decision that a person may ask about; the zero one is silent
	Now             func() time.Time                  // measures the budget only: row times are PostgreSQL's
}

// Ports is the world of a pass. *store.Store is all of them but the last three.
type Ports struct {
	Queue     Queue
	Sweeper   Sweeper
	Unknowns  Unknowns
	Hints     Hints
	Ender     Ender
	Letterbox Letterbox
	Forecast  Forecast
	Receipts  Receipts
	Memory    Memory
	Hours     Hours
	Pruner    Pruner
	Keys      Keys
	Publisher Publisher
	Askers    map[string]Asker // by provider name; one that is missing is never asked
}

// Pass is one turn of the compensator over the whole push log. Its methods may be called again and again, and by
// several processes at once.
type Pass struct {
	Config
	Ports
}

// New makes a pass.
func New(c Config, p Ports) *Pass { return &Pass{Config: c, Ports: p} }

// Summary is what one pass did, or with DryRun would do.
type Summary struct {
	push.Tally

	DryRun     bool `json:"dry_run"`
	Unfinished bool `json:"unfinished"` // the budget ended first, or the pass was stopped; the rest is for the next

	// Redis says why keys were not compared, "" where they were. It fails no pass: a key only saves work (invariant d).
	Redis string `json:"redis,omitempty"`
}

// turn is one run of a pass.
type turn struct {
	*Pass

	until   time.Time
	sum     Summary
	writing chan error // gets the error of the batch that is being published; nil: none is
}

// Run goes through every step once, each in bounded batches until nothing is due. What a failed step could not do
// is in the error, what was done is in the summary all the same.
func (p *Pass) Run(ctx context.Context) (Summary, error) {
	t := &turn{Pass: p, until: p.Now().Add(p.Budget)}
	steps := []struct {
		doing string
		do    func(context.Context) error
	}{
		{"sweeping stale sends", t.sweep},
		{"matching receipts", t.receipts},
		{"giving up", t.giveUp},
		{"repeating unknown sends", t.repeat},
		{"asking about unknown sends", t.ask},
		{"resending unknown sends", t.resend},
		{"counting held sends", t.held},
		{"re-queueing", t.requeue},
		{"comparing keys", t.reconcile},
		{"publishing again", t.republish},
		{"writing dead letters", t.letters},
		{"dropping old receipts", t.dropReceipts},
		{"counting hours", t.countHours}, // before any row of theirs is deleted
		{"pruning", t.prune},
	}
	var failed []error
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", step.doing, err))
		}
		if ctx.Err() != nil {
			failed = append(failed, fmt.Errorf("stopping the pass: %w", context.Cause(ctx)))
			break
		}
	}
	return t.sum, errors.Join(failed...)
}

// DryRun tells what a pass would do now, and changes nothing.
func (p *Pass) DryRun(ctx context.Context) (Summary, error) {
	tally, err := p.Forecast.Due(ctx, p.Policy, p.askable(), p.patience())
	if err != nil {
		return Summary{DryRun: true}, fmt.Errorf("counting what is due: %w", err)
	}
	return Summary{Tally: tally, DryRun: true}, nil
}

// askable names the providers that can be asked.
func (p *Pass) askable() []string { return slices.Sorted(maps.Keys(p.Askers)) }

// patience is how long a retry message may be on its way before it is published again (rule Q2).
func (p *Pass) patience() time.Duration { return 2 * p.Policy.Lease }

// batches calls step until it reports that it moved nothing, the budget ends, or the pass is told to stop. All that was
// moved is published when it returns.
func (t *turn) batches(ctx context.Context, step func(context.Context) (push.Tally, error)) (err error) {
	defer func() { err = errors.Join(err, t.published()) }()
	for ctx.Err() == nil && t.Now().Before(t.until) {
		moved, err := step(ctx)
		t.sum.Add(moved)
		if err != nil {
			return err
		}
		if moved == (push.Tally{}) {
			return nil
		}
	}
	t.sum.Unfinished = true
	return nil
}

// giveUp closes what is over: rule Q6.
func (t *turn) giveUp(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		ended, err := t.Ender.GiveUp(ctx, t.Batch, t.Policy)
		moved := t.gaveUp(ended)
		if err == nil && moved != (push.Tally{}) {
			err = fault.At(fault.AfterGiveUp)
		}
		return moved, err
	})
}

// countHours keeps push_hourly up to date.
func (t *turn) countHours(ctx context.Context) error {
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		n, err := t.Hours.CountHours(ctx)
		return push.Tally{HoursCounted: n}, err
	})
}

// held counts what waits for an operator: the alarm of rule Q5.
func (t *turn) held(ctx context.Context) error {
	n, err := t.Unknowns.Held(ctx, t.Policy)
	t.sum.Held = n
	return err
}

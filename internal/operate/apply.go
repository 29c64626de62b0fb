package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pusher/internal/push"
)

const (
	applyBatch  = 500              // rows a transaction
	publishTime = 30 * time.Second // for one batch; then the compensator publishes it (rule Q2)
)

// ErrNoReason says that an operator must say why.
var ErrNoReason = errors.New("say who does it and why: the audit keeps both")

// Actor is who does something, and as what: cli, operator.
type Actor struct {
	Name string
	Role string
}

// Outcome is what applying a plan did.
type Outcome struct {
	ActionID  int64 `json:"action_id"` // in the audit
	Planned   int   `json:"planned"`   // rows that the plan would change
	Changed   int   `json:"changed"`
	Passed    int   `json:"passed_over"` // rows that had changed since the plan, and were left alone
	Queued    int   `json:"queued"`      // of the changed: to be sent by the pusher
	Published int   `json:"published"`   // of the queued: the pusher has been told; the rest the compensator tells

	// Unpublished says why some were not published at once; empty where all were. Nothing is lost by it.
	Unpublished string `json:"unpublished,omitempty"`
}

// Apply does what a plan says, in bounded batches. Each row moves only while it is what the plan saw; what moved before
// an error stays moved, and is in the outcome and in the audit. What is queued is published at once, where there is a
// publisher; what is not, the compensator publishes within its patience (rule Q2).
func (d *Desk) Apply(ctx context.Context, p *Plan, by Actor, reason string) (Outcome, error) {
	out := Outcome{Planned: len(p.deeds)}
	if strings.TrimSpace(reason) == "" || strings.TrimSpace(by.Name) == "" {
		return out, ErrNoReason
	}
	var err error
	out.ActionID, err = d.Book.Begin(ctx, push.Deeds{
		Actor: by.Name, Role: by.Role, Verb: string(p.Verb), Reason: reason, Filter: p.Filter.String(),
		Counts: p.Counts.asMap(), Matching: p.Counts.Matching,
	})
	if err != nil {
		return out, err
	}
	for some := range slices.Chunk(p.deeds, applyBatch) {
		moved, err := d.Mover.Move(ctx, out.ActionID, p.Verb, some)
		if err != nil {
			return out, err
		}
		out.Changed += len(moved)
		out.Passed += len(some) - len(moved)
		if err := d.publish(ctx, moved, &out); err != nil {
			out.Unpublished = err.Error()
		}
	}
	return out, d.Book.Finish(ctx, out.ActionID, out.Changed)
}

// publish tells the pusher of rows that are queued and committed. After a first failure it leaves the rest to the
// compensator.
func (d *Desk) publish(ctx context.Context, moved []push.Moved, out *Outcome) error {
	var pokes []push.Poke
	var records []push.Record
	var failed []error
	for _, m := range moved {
		if !m.Queued {
			continue
		}
		out.Queued++
		record, err := m.Record(d.cfg.RetryTopic)
		if err != nil {
			failed = append(failed, fmt.Errorf("building the retry message of delivery %d: %w", m.ID, err))
			continue
		}
		pokes, records = append(pokes, m.Poke), append(records, record)
	}
	if len(pokes) == 0 || d.Publisher == nil || out.Unpublished != "" {
		return errors.Join(failed...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTime)
	defer cancel()
	if err := d.Publisher.Publish(ctx, records); err != nil {
		return errors.Join(append(failed, err)...)
	}
	out.Published += len(pokes)
	return errors.Join(append(failed, d.Mover.MarkPublished(ctx, pokes))...)
}

package operate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"pusher/internal/push"
)

const (
	planPage   = 1000 // candidates a statement
	sampleSize = 10
)

// Counts is what a plan comes to. Matching is the sum of the others but MayDouble, which is a part of WouldSend.
type Counts struct {
	Matching    int `json:"matching"`
	WouldSend   int `json:"would_send"`
	WouldSettle int `json:"would_settle"`
	HeldBack    int `json:"held_back"`
	Expired     int `json:"expired"`
	NotAllowed  int `json:"not_allowed"`
	MayDouble   int `json:"may_double"`
}

// Plan is a dry run: what a verb would do to the deliveries of a filter, row by row.
type Plan struct {
	Verb      push.Verb
	Filter    push.Filter // as it was meant, with the verb's own statuses where none was named
	Counts    Counts
	Reasons   map[string]int // why rows stay as they are, and how many
	Sample    []Judged       // the newest
	Truncated bool           // more rows match than a plan holds: do this one, then plan again

	deeds []push.Deed
}

// Judged is a delivery and what would become of it.
type Judged struct {
	push.Entry

	Verdict   Verdict
	Reason    string // why not; empty for what would be done
	MayDouble bool
}

// Changes is how many rows would be changed.
func (p *Plan) Changes() int { return len(p.deeds) }

// Digest names exactly what would be done: two plans of the same digest do the same. Whoever confirms a plan that was
// made anew in between (a page that keeps nothing) compares it with what was shown.
func (p *Plan) Digest() string {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, p.Verb)
	for _, d := range p.deeds {
		_, _ = fmt.Fprintln(sum, d.ID, d.Status, d.Attempt)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Plan says what a verb would do to the deliveries of a filter, and changes nothing.
func (d *Desk) Plan(ctx context.Context, verb push.Verb, f push.Filter) (*Plan, error) {
	if !slices.Contains(push.Verbs(), verb) {
		return nil, fmt.Errorf("%q is none of %v", verb, push.Verbs())
	}
	if len(f.Statuses) == 0 && len(f.IDs) == 0 {
		f.Statuses = fits(verb)
	}
	p := &Plan{Verb: verb, Filter: f, Reasons: make(map[string]int)}
	for before := int64(0); ; {
		some, next, err := d.Mover.Candidates(ctx, f, before, min(planPage, d.cfg.Most-p.Counts.Matching))
		if err != nil {
			return nil, fmt.Errorf("planning %s: %w", verb, err)
		}
		for _, c := range some {
			p.take(c, judge(verb, c, d.cfg.Now()))
		}
		if next == 0 {
			return p, nil
		}
		if p.Counts.Matching >= d.cfg.Most {
			p.Truncated = true
			return p, nil
		}
		before = next
	}
}

// take adds a row to the plan.
func (p *Plan) take(c push.Candidate, j judgement) {
	n := &p.Counts
	n.Matching++
	switch j.verdict {
	case WouldSend:
		n.WouldSend++
	case WouldSettle:
		n.WouldSettle++
	case Expired:
		n.Expired++
	case HeldBack:
		n.HeldBack++
	case NotAllowed:
		n.NotAllowed++
	}
	if j.mayDouble {
		n.MayDouble++
	}
	if j.reason != "" {
		p.Reasons[j.reason]++
	}
	if j.moves {
		p.deeds = append(p.deeds, push.Deed{ID: c.ID, Status: c.Status, Attempt: c.Attempt})
	}
	if len(p.Sample) < sampleSize {
		p.Sample = append(p.Sample, Judged{Entry: c.Entry, Verdict: j.verdict, Reason: j.reason, MayDouble: j.mayDouble})
	}
}

// asMap is the counts as the audit keeps them.
func (c Counts) asMap() map[string]int {
	return map[string]int{
		"matching": c.Matching, "would_send": c.WouldSend, "would_settle": c.WouldSettle, "held_back": c.HeldBack,
		"expired": c.Expired, "not_allowed": c.NotAllowed, "may_double": c.MayDouble,
	}
}

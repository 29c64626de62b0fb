package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pusher/internal/cli"
	"pusher/internal/operate"
	"pusher/internal/push"
)

// deedPlan is a dry run, and what came of it, in JSON.
type deedPlan struct {
	Verb      push.Verb        `json:"verb"`
	Filter    string           `json:"filter"`
	DryRun    bool             `json:"dry_run"`
	Counts    operate.Counts   `json:"counts"`
	Reasons   map[string]int   `json:"reasons"`   // why deliveries stay as they are, and how many
	Truncated bool             `json:"truncated"` // more match than one plan holds
	Sample    []judged         `json:"sample"`    // the newest
	Outcome   *operate.Outcome `json:"outcome,omitempty"`
}

// judged is a delivery of the sample.
type judged struct {
	delivery

	Verdict   operate.Verdict `json:"verdict"`
	Reason    string          `json:"reason,omitempty"`
	MayDouble bool            `json:"may_double"`
}

// planOf makes the JSON of a plan.
func planOf(p *operate.Plan, dry bool) deedPlan {
	told := deedPlan{
		Verb: p.Verb, Filter: p.Filter.String(), DryRun: dry, Counts: p.Counts, Reasons: p.Reasons, Truncated: p.Truncated,
		Sample: make([]judged, len(p.Sample)), // [] and not null when there is none
	}
	for i, s := range p.Sample {
		told.Sample[i] = judged{delivery: viewOf(s.Entry), Verdict: s.Verdict, Reason: s.Reason, MayDouble: s.MayDouble}
	}
	return told
}

// print prints a plan, and what came of it, as JSON or for a person.
func (p deedPlan) print(w *cli.World, asJSON bool) error {
	if asJSON {
		return printJSON(w.Stdout, p)
	}
	err := table(w.Stdout, fmt.Sprintf("%s\t%s", p.Verb, p.Filter), func(line func(...any)) {
		line("matching", p.Counts.Matching)
		line("would send", p.Counts.WouldSend)
		line("  may double", p.Counts.MayDouble)
		line("would settle", p.Counts.WouldSettle)
		line("held back", p.Counts.HeldBack)
		line("expired", p.Counts.Expired)
		line("not allowed", p.Counts.NotAllowed)
		for _, why := range slices.Sorted(maps.Keys(p.Reasons)) {
			line("  because", fmt.Sprintf("%s: %d", why, p.Reasons[why]))
		}
	})
	if err == nil && len(p.Sample) > 0 {
		_, _ = fmt.Fprintln(w.Stdout)
		err = table(w.Stdout, "VERDICT\t"+entryHeading, func(line func(...any)) {
			for _, s := range p.Sample {
				line(append([]any{strings.ReplaceAll(string(s.Verdict), "_", " ")}, s.cells()...)...)
			}
		})
	}
	if err == nil {
		_, err = fmt.Fprintf(w.Stdout, "\n%s\n", p.end())
	}
	return err
}

// end says what was done, or what is to be done.
func (p deedPlan) end() string {
	more := ""
	if p.Truncated {
		more = "; more match than one plan holds: do it again for the rest"
	}
	out := p.Outcome
	switch {
	case out == nil && p.DryRun:
		return "a dry run: nothing is changed; --yes with --reason does it" + more
	case out == nil:
		return "nothing is to be done"
	case out.Unpublished != "":
		more = "; the compensator tells the pusher of the rest (" + out.Unpublished + ")" + more
	}
	return fmt.Sprintf("act %d: %d changed, %d passed over since they had changed meanwhile, %d queued, %d of them published at once%s",
		out.ActionID, out.Changed, out.Passed, out.Queued, out.Published, more)
}

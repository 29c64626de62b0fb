package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

// count is how many deliveries share what it names.
type count struct {
	Action    push.Action `json:"action"`
	Status    push.Status `json:"status"`
	Provider  string      `json:"provider,omitempty"`
	ErrorCode string      `json:"error_code,omitempty"`
	Count     int64       `json:"count"`
}

// waiting is what has not come to its end, in JSON. Ages are in seconds.
type waiting struct {
	Due           int     `json:"due"`
	OldestDue     float64 `json:"oldest_due_seconds"`
	Later         int     `json:"due_later"`
	Queued        int     `json:"queued"`
	OldestQueued  float64 `json:"oldest_queued_seconds"`
	Sending       int     `json:"sending"`
	OldestSending float64 `json:"oldest_sending_seconds"`
	Unknown       int     `json:"unknown"`
	OldestUnknown float64 `json:"oldest_unknown_seconds"`
	Dead          int     `json:"dead_last_day"`
	Letters       int     `json:"letters_due"`

	SentAMinute map[push.Action]float64 `json:"sent_a_minute"` // over the last minutes
}

// statsFlags say what to count.
type statsFlags struct {
	since       time.Duration
	now, asJSON bool
}

// newLogStatsCommand is `pusher log stats`.
func newLogStatsCommand(w *cli.World) *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count deliveries by channel, status, provider and error; what waits, and for how long",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), w, func(_ *config.Config, log *store.Store) error {
				return f.print(cmd.Context(), w, log)
			})
		},
	}
	cmd.Flags().DurationVar(&f.since, "since", 0, "count only those created within this time, such as 24h")
	cmd.Flags().BoolVar(&f.now, "now", false, "only what waits now, and what is sent a minute")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON: a list of counts; with --now one object")
	return cmd
}

// print prints the counts, and what waits; in JSON one of them.
func (f statsFlags) print(ctx context.Context, w *cli.World, log *store.Store) error {
	if !f.now {
		var from time.Time
		if f.since > 0 {
			from = time.Now().Add(-f.since)
		}
		counts, err := log.Stats(ctx, from, time.Time{})
		if err == nil {
			err = printCounts(w, counts, f.asJSON)
		}
		if err != nil || f.asJSON {
			return err
		}
		_, _ = fmt.Fprintln(w.Stdout)
	}
	figures, err := log.Waiting(ctx)
	if err != nil {
		return err
	}
	return printWaiting(w, figures, f.asJSON)
}

// printCounts prints counts as JSON or as a table.
func printCounts(w *cli.World, counts []push.Count, asJSON bool) error {
	if asJSON {
		views := make([]count, len(counts)) // [] and not null when there is none
		for i, c := range counts {
			views[i] = count(c)
		}
		return printJSON(w.Stdout, views)
	}
	return table(w.Stdout, "ACTION\tSTATUS\tPROVIDER\tERROR\tCOUNT", func(line func(...any)) {
		for _, c := range counts {
			line(c.Action, c.Status, orDash(c.Provider), orDash(c.ErrorCode), c.Count)
		}
	})
}

// printWaiting prints what waits as JSON or as a table.
func printWaiting(w *cli.World, f push.Waiting, asJSON bool) error {
	if asJSON {
		return printJSON(w.Stdout, waiting{
			Due: f.Due, OldestDue: f.OldestDue.Seconds(), Later: f.Later, Queued: f.Queued, OldestQueued: f.OldestQueued.Seconds(),
			Sending: f.Sending, OldestSending: f.OldestSending.Seconds(), Unknown: f.Unknown,
			OldestUnknown: f.OldestUnknown.Seconds(), Dead: f.Dead, Letters: f.Letters, SentAMinute: f.SentAMinute,
		})
	}
	return table(w.Stdout, "NOW\tCOUNT\tOLDEST", func(line func(...any)) {
		line("due again", f.Due, age(f.OldestDue))
		line("due later", f.Later, "-")
		line("queued", f.Queued, age(f.OldestQueued))
		line("sending", f.Sending, age(f.OldestSending))
		line("unknown", f.Unknown, age(f.OldestUnknown))
		line("given up in 24 h", f.Dead, "-")
		line("letters to write", f.Letters, "-")
		for _, action := range slices.Sorted(maps.Keys(f.SentAMinute)) {
			line(string(action)+" sent a minute", fmt.Sprintf("%.1f", f.SentAMinute[action]), "-")
		}
	})
}

// age is a time since something, for people.
func age(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return d.Round(time.Second).String()
}

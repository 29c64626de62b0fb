package main

import (
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

// count is one line of the statistics, in JSON.
type count struct {
	Action    push.Action `json:"action"`
	Status    push.Status `json:"status"`
	Provider  string      `json:"provider,omitempty"`
	ErrorCode string      `json:"error_code,omitempty"`
	Count     int64       `json:"count"`
}

// newLogStatsCommand is `pusher log stats`.
func newLogStatsCommand(w *cli.World) *cobra.Command {
	var since time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count deliveries by channel, status, provider and error",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), w, func(_ *config.Config, log *store.Store) error {
				var from time.Time
				if since > 0 {
					from = time.Now().Add(-since)
				}
				counts, err := log.Stats(cmd.Context(), from)
				if err != nil {
					return err
				}
				return printCounts(w, counts, asJSON)
			})
		},
	}
	cmd.Flags().DurationVar(&since, "since", 0, "only those created within this time, such as 24h")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printCounts prints the statistics as JSON or as a table.
func printCounts(w *cli.World, counts []store.Count, asJSON bool) error {
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

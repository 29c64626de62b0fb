package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

// newLogListCommand is `pusher log list`.
func newLogListCommand(w *cli.World) *cobra.Command {
	var f filterFlags
	var before int64
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List deliveries, newest first",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.filter(time.Now())
			if err == nil && (limit < 1 || limit > 10_000) {
				err = fmt.Errorf("--limit %d is not between 1 and 10000", limit)
			}
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			return withStore(cmd.Context(), w, func(c *config.Config, log *store.Store) error {
				filter := f.toRecipient(assemble.Desk(c, log, nil, nil), filter)
				entries, next, err := listed(cmd.Context(), log, filter, before, limit)
				if err != nil {
					return err
				}
				return printEntries(w, entries, next, asJSON)
			})
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().Int64Var(&before, "before", 0, "only row ids below this one: the next page")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listed collects pages until there are limit entries, or no older ones; next is where older ones begin, 0 for none.
func listed(ctx context.Context, log *store.Store, f push.Filter, before int64, limit int) (list []push.Entry, next int64, err error) {
	for {
		page, err := log.List(ctx, f, before, limit-len(list))
		if err != nil {
			return nil, 0, err
		}
		list = append(list, page.Entries...)
		if before = page.Next; before == 0 || len(list) == limit {
			return list, before, nil
		}
	}
}

// printEntries prints deliveries as JSON or as a table, without anything personal.
func printEntries(w *cli.World, entries []push.Entry, next int64, asJSON bool) error {
	if asJSON {
		views := make([]delivery, len(entries)) // [] and not null when there is none
		for i, e := range entries {
			views[i] = viewOf(e)
		}
		return printJSON(w.Stdout, views)
	}
	err := table(w.Stdout, entryHeading, func(line func(...any)) {
		for _, e := range entries {
			line(viewOf(e).cells()...)
		}
	})
	if next > 0 && err == nil {
		_, err = fmt.Fprintf(w.Stderr, "older ones: --before %d\n", next)
	}
	return err
}

// entryHeading stands above delivery.cells.
const entryHeading = "ID\tCREATED\tBIZ_TYPE\tBIZ_ID\tACTION\tROUND\tSTATUS\tATTEMPT\tPROVIDER\tRECIPIENT\tERROR"

// cells is a delivery as a line of a table.
func (d delivery) cells() []any {
	return []any{
		d.ID, clock(d.CreatedAt), d.BizType, d.BizID, d.Action, d.Round, d.Status, d.Attempt,
		orDash(d.Provider), orDash(d.Recipient), orDash(d.ErrorCode),
	}
}

// orDash keeps an empty cell visible.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

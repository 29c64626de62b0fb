package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

// listFlags narrow a list; a zero one does not.
type listFlags struct {
	bizType, bizID, action, userID string
	statuses                       []string
	since                          time.Duration
	before                         int64
	limit                          int
	json                           bool
}

// newLogListCommand is `pusher log list`.
func newLogListCommand(w *cli.World) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List deliveries, newest first",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.filter(time.Now())
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			return withStore(cmd.Context(), w, func(_ *config.Config, log *store.Store) error {
				entries, err := log.List(cmd.Context(), filter)
				if err != nil {
					return err
				}
				return printEntries(w, entries, f.json)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.bizType, "biz-type", "", "only of this biz_type")
	flags.StringVar(&f.bizID, "biz-id", "", "only of this biz_id")
	flags.StringVar(&f.action, "action", "", "only of this channel: notify, sms or wechat")
	flags.StringVar(&f.userID, "user-id", "", "only to this user")
	flags.StringSliceVar(&f.statuses, "status", nil, "only in these statuses, such as failed,unknown")
	flags.DurationVar(&f.since, "since", 0, "only those created within this time, such as 24h")
	flags.Int64Var(&f.before, "before", 0, "only row ids below this one: the next page")
	flags.IntVar(&f.limit, "limit", 50, "at most so many")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// filter reads the flags; the error names the one that makes no sense.
func (f listFlags) filter(now time.Time) (store.Filter, error) {
	filter := store.Filter{
		Identity: push.Identity{BizType: f.bizType, Action: push.Action(f.action)},
		BizID:    f.bizID, UserID: f.userID, Before: f.before, Limit: f.limit,
	}
	for _, name := range f.statuses {
		if !slices.Contains(push.Statuses(), push.Status(name)) {
			return filter, fmt.Errorf("--status %q is none of %v", name, push.Statuses())
		}
		filter.Statuses = append(filter.Statuses, push.Status(name))
	}
	if f.limit < 1 || f.limit > 10_000 {
		return filter, fmt.Errorf("--limit %d is not between 1 and 10000", f.limit)
	}
	if f.since < 0 {
		return filter, fmt.Errorf("--since %s is in the future", f.since)
	}
	if f.since > 0 {
		filter.Since = now.Add(-f.since)
	}
	return filter, nil
}

// printEntries prints deliveries as JSON or as a table, without anything personal.
func printEntries(w *cli.World, entries []store.Entry, asJSON bool) error {
	if asJSON {
		views := make([]delivery, len(entries)) // [] and not null when there is none
		for i, e := range entries {
			views[i] = viewOf(e)
		}
		return printJSON(w.Stdout, views)
	}
	return table(w.Stdout, "ID\tCREATED\tBIZ_TYPE\tBIZ_ID\tACTION\tROUND\tSTATUS\tATTEMPT\tPROVIDER\tERROR", func(line func(...any)) {
		for _, e := range entries {
			line(e.ID, e.CreatedAt.UTC().Format(time.DateTime), e.BizType, e.BizID, e.Action, e.Round, e.Status, e.Attempt,
				orDash(e.Provider), orDash(e.ErrorCode))
		}
	})
}

// orDash keeps an empty cell visible.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

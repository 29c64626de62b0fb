package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/store"
)

// newLogCommand holds what operators ask of the push log.
func newLogCommand(w *cli.World) *cobra.Command {
	group := &cobra.Command{Use: "log", Short: "The push log, for operators"}
	return cli.Group(group, newLogListCommand(w), newLogShowCommand(w), newLogStatsCommand(w), newLogFollowCommand(w),
		newLogRequeueCommand(w), newLogResolveCommand(w), newLogExportCommand(w), newLogAuditCommand(w))
}

// withStore runs a command on the open push log.
func withStore(ctx context.Context, w *cli.World, do func(*config.Config, *store.Store) error) error {
	c, _, err := w.Load()
	if err != nil {
		return err
	}
	log, err := assemble.Log(ctx, c, "pusher log")
	if err != nil {
		return err
	}
	defer log.Close()
	return do(c, log)
}

// printJSON writes one indented JSON value.
func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// table prints rows under a heading, in columns.
func table(out io.Writer, heading string, rows func(line func(cells ...any))) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, heading)
	rows(func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				_, _ = fmt.Fprint(t, "\t")
			}
			_, _ = fmt.Fprint(t, cell)
		}
		_, _ = fmt.Fprintln(t)
	})
	return t.Flush()
}

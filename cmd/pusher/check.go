package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/cli"
	"pusher/internal/config"
)

// checkTimeout bounds what one dependency may take to answer.
const checkTimeout = 10 * time.Second

// finding is one line of `pusher check`.
type finding struct {
	what string // what was looked at
	says string // what was found
	err  error  // nil: it is well
	mend string // how to mend it; may be empty where the error says so
	warn bool   // it works, but not as it should
}

// report writes findings as they come and counts the bad ones.
type report struct {
	out io.Writer
	bad int
}

// add writes one line. What may be lived with is a warning: it does not count as bad.
func (r *report) add(f finding) {
	switch {
	case f.err == nil && !f.warn:
		_, _ = fmt.Fprintf(r.out, "ok    %s: %s\n", f.what, f.says)
	case f.err == nil:
		_, _ = fmt.Fprintf(r.out, "warn  %s: %s; %s\n", f.what, f.says, f.mend)
	default:
		r.bad++
		line := fmt.Sprintf("bad   %s: %s", f.what, cli.OneLine(f.err))
		if f.mend != "" {
			line += "; " + f.mend
		}
		_, _ = fmt.Fprintln(r.out, line)
	}
}

// newCheckCommand is `pusher check`.
func newCheckCommand(w *cli.World) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and every dependency, a line each",
		Long: "Checks the configuration with its templates, Kafka and its topics, Redis, and PostgreSQL with its schema.\n\n" +
			"Each line says ok, warn or bad, and how to mend it. Exit code 1 when anything is bad; 2 when it is the configuration.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := w.Load()
			if err != nil {
				return err
			}
			return check(cmd.Context(), w, c)
		},
	}
}

// check goes through everything; one thing away keeps no other from being looked at.
func check(ctx context.Context, w *cli.World, c *config.Config) error {
	r := &report{out: w.Stdout}
	r.add(finding{what: "configuration " + w.Path(), says: fmt.Sprintf("%d pushes", len(c.Pushes)), err: c.NeedPushes()})
	for _, look := range []func(context.Context, *config.Config, *report){checkKafka, checkRedis, checkPostgres} {
		within(ctx, func(ctx context.Context) { look(ctx, c, r) })
	}
	if r.bad > 0 {
		return fmt.Errorf("%d of the checks above are bad", r.bad)
	}
	return nil
}

// within gives one check its time.
func within(ctx context.Context, look func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	look(ctx)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
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
		line := fmt.Sprintf("bad   %s: %s", f.what, strings.TrimPrefix(cli.OneLine(f.err), "config: "))
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
		Long: "Checks the configuration, its templates against the sample of each push, Kafka and its topics, Redis, and PostgreSQL\n" +
			"with its schema.\n\n" +
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
	wrong := checkConfig(w, c, r)
	for _, look := range []func(context.Context, *config.Config, *report){checkTexts, checkRates, checkKafka, checkRedis, checkPostgres} {
		within(ctx, func(ctx context.Context) { look(ctx, c, r) })
	}
	switch {
	case wrong != nil:
		return wrong
	case r.bad == 1:
		return errors.New("1 of the checks above is bad")
	case r.bad > 1:
		return fmt.Errorf("%d of the checks above are bad", r.bad)
	}
	return nil
}

// checkConfig looks at what a file without mistakes may still lack. It answers what is missing.
func checkConfig(w *cli.World, c *config.Config, r *report) error {
	what := "configuration " + w.Path()
	if w.Path() == "" {
		what = "configuration without a file"
	}
	wrong := []error{c.NeedPushes(), c.NeedPostgres()}
	for _, err := range wrong {
		if err != nil {
			r.add(finding{what: what, err: err})
		}
	}
	if errors.Join(wrong...) == nil {
		r.add(finding{what: what, says: cli.Count(len(c.Pushes), "push", "pushes")})
	}
	return errors.Join(wrong...)
}

// within gives one check its time.
func within(ctx context.Context, look func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	look(ctx)
}

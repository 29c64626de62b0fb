package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/compensate"
	"pusher/internal/config"
	"pusher/internal/telemetry"
)

// flags are the compensator's.
type flags struct {
	every    time.Duration
	dryRun   bool
	json     bool
	textfile string
}

// newCommand is the whole command line of the compensator.
func newCommand(w *cli.World) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "compensator",
		Short: "Bring failed deliveries back: one pass, for cron",
		Long: "Re-queues what is due, publishes again what got lost on the way, takes up what a pusher left behind, asks about\n" +
			"unknown sends, gives up and writes dead letters. Two at once share the work and never double it.\n\n" +
			"Exit code 0 when the pass completed, also with nothing to do; 1 when it did not; 2 for wrong usage or configuration.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("every") && f.every <= 0 {
				return &cli.UsageError{Err: fmt.Errorf("--every %s: must be longer than 0", f.every)}
			}
			return compensateWith(cmd.Context(), w, f)
		},
	}
	w.Flag(cmd)
	cli.Versioned(cmd)
	cmd.Flags().DurationVar(&f.every, "every", 0, "loop: a pass at once, then one every so often, such as 30s")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "tell what a pass would do, and do nothing")
	cmd.Flags().StringVar(&f.textfile, "textfile", "", "write the metrics of each pass to this file, whose name ends in .prom, for node_exporter [telemetry.textfile]")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the counts as JSON, one line a pass")
	return cmd
}

// compensateWith runs one pass, or many until the context ends. In a loop a failed pass is logged and the next one
// goes on, a service that is away included.
func compensateWith(ctx context.Context, w *cli.World, f flags) error {
	c, log, err := w.Load()
	if err == nil {
		err = c.NeedPostgres()
	}
	if err != nil {
		return err
	}
	traces, err := assemble.Traces(ctx, c, log, "compensator", cli.Version())
	if err != nil {
		return err
	}
	var tracer compensate.Tracer
	if traces != nil {
		tracer = traces
		defer traces.Close(context.WithoutCancel(ctx)) // a collector that is away fails no pass
	}
	log = telemetry.Repeats(log)
	if f.every == 0 && log.GetLevel() == zerolog.InfoLevel {
		log = log.Level(zerolog.WarnLevel) // cron mails what is on stderr
	}
	once, err := passes(c, log, f, tracer)
	if err != nil {
		return err
	}
	if f.every == 0 {
		sum, err := once(ctx)
		return errors.Join(err, printSummary(w, sum, err, f.json))
	}
	compensate.Loop(ctx, f.every, once, func(sum compensate.Summary, err error) {
		if err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("pass not completed")
		}
		if err := printSummary(w, sum, err, f.json); err != nil {
			log.Error().Err(err).Msg("counts not printed")
		}
	})
	return nil
}

// passes is how one pass is made: with its metrics written where they are wanted. A dry run counts for nothing.
func passes(c *config.Config, log zerolog.Logger, f flags, tracer compensate.Tracer) (func(context.Context) (compensate.Summary, error), error) {
	once := func(ctx context.Context) (compensate.Summary, error) {
		return assemble.PassEvery(ctx, c, log, cmp.Or(f.every, time.Minute), f.dryRun, tracer)
	}
	path := cmp.Or(f.textfile, c.Telemetry.Textfile)
	switch {
	case path == "" || f.dryRun:
		return once, nil
	case !strings.HasSuffix(path, ".prom"):
		return nil, &cli.UsageError{Err: fmt.Errorf("--textfile %s: does not end in .prom: node_exporter reads no other files", path)}
	}
	return func(ctx context.Context) (compensate.Summary, error) {
		began := time.Now()
		sum, err := once(ctx)
		return sum, errors.Join(err, telemetry.WritePass(path, telemetry.Pass{
			Tally: sum.Tally, Began: began, Ended: time.Now(), Completed: err == nil, Unfinished: sum.Unfinished,
		}))
	}, nil
}

// redisAway says why keys were not compared: the pass completed all the same.
func redisAway(sum compensate.Summary) string {
	if sum.Redis == "" {
		return ""
	}
	return "; redis " + sum.Redis
}

// printSummary writes the counts of a pass; those of one that was cut short too, since they were done.
func printSummary(w *cli.World, sum compensate.Summary, failed error, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w.Stdout).Encode(struct {
			compensate.Summary

			Completed bool `json:"completed"`
		}{sum, failed == nil})
	}
	did := "pass"
	switch {
	case failed != nil:
		did = "pass not completed"
	case sum.DryRun:
		did = "would do"
	}
	t := sum.Tally
	_, err := fmt.Fprintf(w.Stdout, "%s: re-queued %d, published again %d, swept %d, repeated %d, asked %d (found %d), resent %d, "+
		"held %d, dead %d, expired %d, letters %d, receipts %d, pruned %d, keys checked %d (repaired %d)%s\n", did, t.Requeued, t.Republished, t.SweptQueued+t.SweptUnknown+t.SweptDead,
		t.Repeated, t.Asked, t.Found, t.Resent, t.Held, t.Dead+t.UnknownExpired, t.Expired, t.Letters, t.Receipts, t.Pruned, t.KeysChecked, t.KeysRepaired, redisAway(sum))
	return err
}

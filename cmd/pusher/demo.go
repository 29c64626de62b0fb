package main

import (
	"errors"
	"fmt"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"pusher/internal/cli"
	"pusher/internal/demo"
	"pusher/internal/telemetry"
)

func newDemoCommand(w *cli.World) *cobra.Command {
	var (
		o       demo.Options
		exit    bool
		verbose bool
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole system in this process and see what it does",
		Long: "Starts Kafka, Redis, PostgreSQL and a provider sandbox inside this process, lets two pushers and a compensator work\n" +
			"on traffic that goes wrong, and asks the providers whether anything was sent twice or lost. It needs no\n" +
			"configuration. The first time it fetches PostgreSQL's programs (15 MB).",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Events < 1 {
				return &cli.UsageError{Err: fmt.Errorf("--events %d: at least 1 is wanted", o.Events)}
			}
			o.Stay, o.Out, o.Err, o.Log = !exit, w.Stdout, w.Stderr, zerolog.Nop()
			if verbose {
				log, err := telemetry.NewLog(w.Stderr, "info")
				if err != nil {
					return err
				}
				o.Log = log
			}
			err := demo.Run(cmd.Context(), o)
			if err != nil && cmd.Context().Err() != nil {
				return errors.New("interrupted before the summary")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&exit, "exit", false, "end after the summary; exit code 0 only if nothing was sent twice or lost")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show the log of the pushers")
	cmd.Flags().IntVar(&o.Events, "events", 1000, "how many business facts")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "the same seed tells the same story")
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
)

func newRunCommand(w *cli.World) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Consume events and send them: the long-running worker",
		Long: "Consumes events and sends them. It waits for services that are away, and ends gently on SIGTERM: what is out is\n" +
			"finished within worker.grace, what is not sent yet is given back.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, log, err := w.Load()
			if err != nil {
				return err
			}
			assemble.Heap(c)
			p, err := assemble.NewPusher(cmd.Context(), c, log, cli.Version())
			if err != nil {
				return err
			}
			return p.Run(cmd.Context())
		},
	}
}

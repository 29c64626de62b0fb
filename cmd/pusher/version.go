package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pusher/internal/cli"
)

// newVersionCommand is `pusher version`.
func newVersionCommand(w *cli.World) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(w.Stdout, cli.VersionLine("pusher"))
			return err
		},
	}
}

package main

import (
	"github.com/spf13/cobra"

	"pusher/internal/cli"
)

// newRootCommand holds every command; each is in a file of its own name.
func newRootCommand(w *cli.World) *cobra.Command {
	root := &cobra.Command{
		Use:   "pusher",
		Short: "Sends business events as in-app, SMS and WeChat messages, once each",
		Long: "Sends business events from Kafka as in-app, SMS and WeChat messages, once each.\n\n" +
			"Results go to stdout, the log to stderr. Exit codes: 0 done, 1 not done, 2 wrong usage or configuration.",
	}
	w.Flag(root)
	cli.Versioned(root)
	return cli.Group(root,
		newCheckCommand(w),
		newDemoCommand(w),
		newGatewayCommand(w),
		newLogCommand(w),
		newMigrateCommand(w),
		newRunCommand(w),
		newSandboxCommand(w),
		newSendCommand(w),
		newVersionCommand(w),
	)
}

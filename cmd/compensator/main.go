// Command compensator brings failed deliveries back, for cron: one pass and out, or a loop with --every.
// docs/protocol.md, rules Q1 to Q7, says what a pass does.
package main

import (
	"context"
	"io"
	"os"
	_ "time/tzdata" // the zones of dedup.zone, in an image without any

	"pusher/internal/cli"
	"pusher/internal/config"
)

func main() { os.Exit(cli.Main("compensator", run)) }

// run is the whole program: it looks at nothing that is not handed to it but the names of the environment.
func run(ctx context.Context, args []string, lookup config.Lookup, stdin io.Reader, stdout, stderr io.Writer) error {
	w := &cli.World{Lookup: lookup, Environ: os.Environ(), Stdin: stdin, Stdout: stdout, Stderr: stderr}
	return cli.Execute(ctx, newCommand(w), args, stdin, stdout, stderr)
}

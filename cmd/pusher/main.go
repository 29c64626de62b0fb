// Command pusher sends business events from Kafka as in-app messages, SMS and WeChat messages, each at most once.
// docs/contract.md, section 7, says what its commands do.
package main

import (
	"context"
	"io"
	"os"
	_ "time/tzdata" // the zones of dedup.zone, in an image without any

	"pusher/internal/cli"
	"pusher/internal/config"
)

func main() { os.Exit(cli.Main("pusher", run)) }

// run is the whole program: it looks at nothing that is not handed to it but the names of the environment.
func run(ctx context.Context, args []string, lookup config.Lookup, stdin io.Reader, stdout, stderr io.Writer) error {
	w := &cli.World{Lookup: lookup, Environ: os.Environ(), Stdin: stdin, Stdout: stdout, Stderr: stderr}
	return cli.Execute(ctx, newRootCommand(w), args, stdin, stdout, stderr)
}

// Command chaos proves the promise under fire (see package chaos): make chaos runs it.
//
// Its exit code is 0 when nothing was sent twice, lost or left undone, 1 when something was or the run did not work, 2
// for a wrong command line.
package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pusher/internal/chaos"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := chaos.Options{Out: stdout, Err: stderr}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.For, "for", 10*time.Minute, "how long to write events and to strike")
	flags.Uint64Var(&o.Seed, "seed", 0, "the same seed makes the same events and faults; 0 draws one")
	flags.Float64Var(&o.Rate, "rate", 50, "new events a second")
	flags.DurationVar(&o.Every, "every", 3*time.Second, "mean time from one fault to the next")
	flags.IntVar(&o.Pushers, "pushers", 3, "pushers, the last of which sends SMS by the provider that cannot be asked")
	flags.IntVar(&o.Compensators, "compensators", 2, "compensators")
	flags.StringVar(&o.Bin, "bin", "bin", "where the programs pusher and compensator are")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case o.For <= 0 || o.Rate <= 0 || o.Every <= 0 || o.Pushers < 1 || o.Compensators < 1 || flags.NArg() > 0:
		_, _ = fmt.Fprintln(stderr, "chaos: every flag wants a number above 0, and there are no arguments; see --help")
		return 2
	}
	for o.Seed == 0 {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		o.Seed = uint64(binary.BigEndian.Uint32(b[:]))
	}
	if err := chaos.Run(ctx, o); err != nil {
		_, _ = fmt.Fprintln(stderr, "chaos:", err)
		return 1
	}
	return 0
}

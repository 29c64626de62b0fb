// Command bench measures the pipeline on real services of this machine (see package bench): make bench runs it.
//
// Its exit code is 0 when everything was measured, whether or not a target is met, 1 when something could not be, 2 for
// a wrong command line.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pusher/internal/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := bench.Options{Log: stdout}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Only, "only", "", "stages to measure, by commas; all by default")
	flags.StringVar(&o.Out, "out", "", "file for the table; the chart goes beside it")
	flags.StringVar(&o.Profile, "profile", "", "directory for a CPU and an allocation profile of each process under measurement; none by default")
	role := flags.String("role", "", "the part of a child process under measurement; set by this program itself")
	latency := flags.Duration("latency", time.Duration(0), "of the child's provider")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || flags.NArg() > 0:
		return 2
	}
	var err error
	if *role != "" {
		err = bench.Instance(ctx, *role, *latency, o.Profile, stderr)
	} else {
		err = bench.Run(ctx, o)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

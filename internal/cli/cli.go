package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"pusher/internal/config"
)

// The exit codes.
const (
	ExitOK    = 0
	ExitError = 1 // it did not work
	ExitUsage = 2 // it was asked for in the wrong way, or the configuration is wrong
	exitBySig = 128
)

// UsageError is a command line that makes no sense.
type UsageError struct{ Err error }

// Error says what is wrong.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Run is a program: main hands it the world, and it looks for nothing elsewhere.
type Run func(ctx context.Context, args []string, lookup config.Lookup, stdin io.Reader, stdout, stderr io.Writer) error

// Main runs a program under the process's own world and returns its exit code. The first SIGTERM or SIGINT ends the
// context, a second one ends the process at once.
func Main(name string, run Run) int {
	logging.Disable() // go-redis writes plain text to stderr; its errors come back to us all the same
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go obey(signals, stop, os.Exit) // ends with the process
	err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
	Report(os.Stderr, name, err)
	return ExitCode(err)
}

// obey ends gently on the first signal and at once on the second.
func obey(signals <-chan os.Signal, stop func(), exit func(int)) {
	<-signals
	stop()
	code := exitBySig
	if s, ok := (<-signals).(syscall.Signal); ok {
		code += int(s)
	}
	exit(code)
}

// ExitCode says how a program that returned err ends.
func ExitCode(err error) int {
	var usage *UsageError
	var wrong *config.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage), errors.As(err, &wrong):
		return ExitUsage
	}
	return ExitError
}

// Report writes an error: one line, or one for each problem of the configuration. Joined errors are one line too.
func Report(w io.Writer, name string, err error) {
	var wrong *config.Error
	switch {
	case err == nil:
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintln(w, err)
	default:
		_, _ = fmt.Fprintf(w, "%s: %s\n", name, OneLine(err))
	}
}

// OneLine says an error, and those joined to it, in one line; what several of them say alike is said once.
func OneLine(err error) string {
	var parts []string
	for part := range strings.Lines(err.Error()) {
		if part = strings.TrimSpace(part); part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": ")
}

// Count puts a number before its noun: "1 event", "2 events".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Args makes what a command refuses to take a usage error.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &UsageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}

// Group makes a command that only holds others: by itself it is a usage error.
func Group(cmd *cobra.Command, sub ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(sub...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, s := range sub {
			names = append(names, s.Name())
		}
		said := "no command is given"
		if len(args) > 0 {
			said = fmt.Sprintf("unknown command %q", args[0])
		}
		return &UsageError{fmt.Errorf("%s; %s takes one of %s", said, cmd.CommandPath(), strings.Join(names, ", "))}
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // Args has refused already
	return cmd
}

// Execute runs a tree of commands, silent but for what they write themselves.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &UsageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	return root.ExecuteContext(ctx)
}

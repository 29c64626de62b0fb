// Command testservers starts the Kafka, Redis and PostgreSQL that tests use, says on stderr which kind each is, runs a
// command with their addresses in its environment, and stops them:
//
//	go run ./internal/testbed/cmd/testservers -- go test ./...
//
// Its exit code is the command's; 1 when a server does not start, 2 without a command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"

	"pusher/internal/testbed"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run starts the servers, runs the command, stops the servers and tells the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int, err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("usage: testservers -- command [argument...]")
	}
	servers, err := start(ctx)
	defer func() {
		for _, server := range servers {
			if closeErr := server.Close(); closeErr != nil {
				code, err = max(code, 1), errors.Join(err, fmt.Errorf("stopping %s: %w", server, closeErr))
			}
		}
	}()
	if err != nil {
		return 1, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test then stops its own children
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, stdout, stderr, os.Environ()
	for _, server := range servers {
		fmt.Fprintln(stderr, server)
		cmd.Env = append(cmd.Env, server.Env())
	}
	return exitCode(cmd.Run())
}

// start starts all three at once. On an error it returns those that did start, to be closed.
func start(ctx context.Context) ([]*testbed.Server, error) {
	found := make([]*testbed.Server, 3)
	var group errgroup.Group // not with ctx: one that fails need not leave the others half started
	for i, name := range []string{"kafka", "redis", "postgres"} {
		group.Go(func() (err error) {
			found[i], err = testbed.Start(ctx, name)
			return err
		})
	}
	err := group.Wait()
	var servers []*testbed.Server
	for _, server := range found {
		if server != nil {
			servers = append(servers, server)
		}
	}
	return servers, err
}

// exitCode takes the code out of a command's error; an error stays one only when the command did not run.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	default:
		return 1, err
	}
}

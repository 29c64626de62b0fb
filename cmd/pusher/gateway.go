package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/gateway"
)

// newGatewayCommand is `pusher gateway`.
func newGatewayCommand(w *cli.World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gateway",
		Short: "Take events from producers by HTTP, each once, and write them to the topic",
		Long: "Serves the producers' front door on gateway.addr: POST /v1/events and /v1/tokens, the OpenAPI document at\n" +
			"/v1/openapi.json and its page at /docs, /healthz, /readyz and /metrics. It needs Kafka and Redis, not PostgreSQL.\n\n" +
			"It ends gently on SIGTERM: requests under way are answered within gateway.grace.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, log, err := w.Load()
			if err != nil {
				return err
			}
			g, err := assemble.NewGateway(cmd.Context(), c, log, cli.Version())
			if err != nil {
				return err
			}
			return g.Run(cmd.Context())
		},
	}
	cmd.AddCommand(newCredentialCommand(w))
	return cmd
}

// producerName is what a producer may be called.
var producerName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// errProducerName says so.
var errProducerName = errors.New("a producer's name is 1 to 64 of a-z A-Z 0-9 _ . -")

// newCredentialCommand is `pusher gateway credential`.
func newCredentialCommand(w *cli.World) *cobra.Command {
	return &cobra.Command{
		Use:   "credential NAME",
		Short: "Make a credential for a producer",
		Long: "Makes a credential and prints it with its entry for gateway.producers, which holds only its hash. Nobody keeps the\n" +
			"credential itself: it is shown this once.",
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if !producerName.MatchString(args[0]) {
				return &cli.UsageError{Err: errProducerName}
			}
			secret, entry := gateway.NewCredential(args[0])
			_, err := fmt.Fprintf(w.Stdout, "credential: %s\nentry:      %s\n", secret, entry)
			return err
		},
	}
}

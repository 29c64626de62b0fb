package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pusher/internal/cli"
	"pusher/internal/sandbox/provider"
)

// sandboxFlags are the settings of `pusher sandbox`.
type sandboxFlags struct {
	addr   string
	seed   uint64
	faults string // file
}

// newSandboxCommand is `pusher sandbox`. It needs no configuration.
func newSandboxCommand(w *cli.World) *cobra.Command {
	var f sandboxFlags
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the provider sandbox alone, for staging",
		Long: "Runs one HTTP server that speaks Aliyun's and Tencent's SMS APIs and WeChat's template messages.\n\n" +
			"Give its address as each provider's endpoint, and the account \"" + provider.DefaultKeyID + "\" with the secret \"" +
			provider.DefaultSecret + "\".\nGET /_sandbox/journal tells what was accepted, POST /_sandbox/faults sets the faults,\n" +
			"POST /_sandbox/receipts where each provider posts its receipts: {\"urls\": {\"aliyun\": \"http://...\"}, \"delay\": \"2s\"}.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSandbox(cmd, w, f) },
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:9000", "address to listen on")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "which deliveries meet a fault that has a share")
	cmd.Flags().StringVar(&f.faults, "faults", "", `file with the faults to begin with: {"faults": [...]}`)
	return cmd
}

// runSandbox serves until the context ends.
func runSandbox(cmd *cobra.Command, w *cli.World, f sandboxFlags) error {
	faults, err := readFaults(f.faults)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	sandbox, err := provider.New(provider.Config{Seed: f.seed, Faults: faults})
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("reading %s: %w", f.faults, err)}
	}
	if err := sandbox.Start(f.addr); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w.Stdout, "provider sandbox on %s\n", sandbox.URL())
	<-cmd.Context().Done()
	return sandbox.Close()
}

// readFaults reads what POST /_sandbox/faults takes; none for no file.
func readFaults(path string) ([]provider.Fault, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the faults: %w", err)
	}
	var list struct {
		Faults []provider.Fault `json:"faults"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("reading the faults of %s: %w", path, err)
	}
	return list.Faults, nil
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
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
	told   string // file: how receipts are posted
	asked  string // file: how questions are answered
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
			"POST /_sandbox/receipts where each provider posts its receipts: {\"urls\": {\"aliyun\": \"http://...\"}, \"delay\": \"2s\"},\n" +
			"POST /_sandbox/queries how questions are answered: {\"lag\": \"30s\", \"context\": true}. docs/sandbox.md says more.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSandbox(cmd, w, f) },
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:9000", "address to listen on")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "which deliveries meet a fault that has a share")
	cmd.Flags().StringVar(&f.told, "receipts", "", `file that says where receipts are posted: {"urls": {"aliyun": "http://..."}, "delay": "2s"}`)
	cmd.Flags().StringVar(&f.asked, "queries", "", `file that says how questions are answered: {"lag": "30s", "context": true}`)
	cmd.Flags().StringVar(&f.faults, "faults", "", `file with the faults to begin with: {"faults": [...]}`)
	return cmd
}

// runSandbox serves until the context ends.
func runSandbox(cmd *cobra.Command, w *cli.World, f sandboxFlags) error {
	var faults struct {
		Faults []provider.Fault `json:"faults"`
	}
	var told provider.Receipts
	var asked provider.Queries
	if err := errors.Join(
		readFile(f.faults, "the faults", &faults), readFile(f.told, "the receipts", &told), readFile(f.asked, "the queries", &asked),
	); err != nil {
		return &cli.UsageError{Err: err}
	}
	sandbox, err := provider.New(provider.Config{Seed: f.seed, Faults: faults.Faults, Queries: asked})
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("reading %s: %w", f.faults, err)}
	}
	if err := sandbox.SetReceipts(told); err != nil {
		return &cli.UsageError{Err: fmt.Errorf("reading %s: %w", f.told, err)}
	}
	if err := sandbox.Start(f.addr); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w.Stdout, "provider sandbox on %s\n", sandbox.URL())
	<-cmd.Context().Done()
	return sandbox.Close()
}

// readFile reads what the sandbox's admin API takes, from a file; nothing for no file.
func readFile(path, what string, into any) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", what, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("reading %s of %s: %w", what, path, err)
	}
	return nil
}

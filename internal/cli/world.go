package cli

import (
	"io"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"pusher/internal/channels"
	"pusher/internal/config"
	"pusher/internal/fault"
	"pusher/internal/telemetry"
)

// World is what a command works with.
type World struct {
	Lookup  config.Lookup
	Environ []string // as os.Environ gives it: looked through for variables that mean nothing
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	path string
}

// Flag adds --config to a tree of commands.
func (w *World) Flag(root *cobra.Command) {
	root.PersistentFlags().StringVar(&w.path, "config", "", "configuration file [$"+config.Variable+"]")
}

// Path is the configuration file named by the flag, else by PUSHER_CONFIG; empty for none.
func (w *World) Path() string {
	if w.path != "" {
		return w.path
	}
	path, _ := w.Lookup(config.Variable)
	return path
}

// Load reads the configuration with every template in it, opens the log that it asks for, and logs its warnings.
func (w *World) Load() (*config.Config, zerolog.Logger, error) {
	c, warnings, err := config.Load(w.Path(), w.Lookup, w.Environ)
	if err == nil {
		err = c.CheckTexts(compile)
	}
	if err != nil {
		return nil, zerolog.Nop(), err
	}
	log, err := telemetry.NewLog(w.Stderr, c.Log.Level)
	if err != nil {
		return nil, zerolog.Nop(), err
	}
	for _, warning := range warnings {
		name, says, _ := strings.Cut(string(warning), ": ")
		log.Warn().Str(telemetry.FieldVariable, name).Msg(says)
	}
	return c, log, w.breakOnPurpose(log)
}

// breakOnPurpose sets the faults that a crash test asks for. Nobody must find out later why a process that was told to
// break did so.
func (w *World) breakOnPurpose(log zerolog.Logger) error {
	spec, _ := w.Lookup(fault.Variable)
	if spec == "" {
		return nil
	}
	if err := fault.Arm(spec); err != nil {
		return &UsageError{err}
	}
	log.Error().Str(telemetry.FieldVariable, fault.Variable).Msg("FAULTS ARE SET: this process will break on purpose (" + spec + "); never in production")
	return nil
}

// compile refuses a template as the senders would.
func compile(key, text string) error {
	_, err := channels.Compile(key, text)
	return err
}

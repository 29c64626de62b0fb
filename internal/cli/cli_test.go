package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"pusher/internal/config"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("redis is away"), 1},
		{context.Canceled, 1},
		{&UsageError{errors.New("unknown flag")}, 2},
		{fmt.Errorf("starting: %w", &config.Error{}), 2},
	}
	for _, c := range cases {
		if got := ExitCode(c.err); got != c.code {
			t.Errorf("%v: got %d, want %d", c.err, got, c.code)
		}
	}
}

func TestReportIsOneLineAnErrorAndOneAProblem(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err  error
		want string
	}{
		"nothing": {nil, ""},
		"joined":  {errors.Join(errors.New("a"), errors.New("b")), "pusher: a; b\n"},
		"driver":  {errors.New("connecting to `u`:\n\tdial a\n\tdial a\n\tdial b"), "pusher: connecting to `u`: dial a; dial b\n"},
		"problems": {
			&config.Error{Problems: []config.Problem{{Key: "a", Text: "x"}, {Key: "b", Source: "f", Line: 3, Text: "y\nz"}}},
			"config: a: x\nconfig: f:3: b: y z\n",
		},
		"joined problems": {
			errors.Join(&config.Error{Problems: []config.Problem{{Key: "a", Text: "x"}}}, &config.Error{Problems: []config.Problem{{Key: "b", Text: "y"}}}),
			"config: a: x\nconfig: b: y\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			Report(&out, "pusher", c.err)
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		})
	}
}

func TestCountAgreesWithItsNoun(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"0 events", "1 event", "2 events"} {
		if got := Count(n, "event", "events"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFirstSignalEndsGentlySecondAtOnce(t *testing.T) {
	t.Parallel()
	for signal, code := range map[os.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		signals, stopped, exited := make(chan os.Signal), make(chan struct{}), make(chan int)
		go obey(signals, func() { close(stopped) }, func(code int) { exited <- code })
		signals <- syscall.SIGTERM
		<-stopped
		signals <- signal
		if got := <-exited; got != code {
			t.Errorf("%v: got %d, want %d", signal, got, code)
		}
	}
}

// program is a tree with one group and one command.
func program() *cobra.Command {
	leaf := &cobra.Command{
		Use: "up", Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), "went up")
			return err
		},
	}
	group := Group(&cobra.Command{Use: "migrate"}, leaf)
	return Group(&cobra.Command{Use: "pusher"}, group)
}

func TestUsageErrorsSayWhatThereIs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		says string
	}{
		"nothing":              {nil, "pusher takes one of migrate"},
		"unknown command":      {[]string{"migrat"}, `unknown command "migrat"`},
		"group alone":          {[]string{"migrate"}, "pusher migrate takes one of up"},
		"unknown in a group":   {[]string{"migrate", "upp"}, `unknown command "upp"`},
		"unknown flag":         {[]string{"migrate", "up", "--x"}, "unknown flag: --x"},
		"a word too many":      {[]string{"migrate", "up", "x"}, "pusher migrate up --help"},
		"unknown flag of root": {[]string{"--x"}, "unknown flag"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			err := Execute(t.Context(), program(), c.args, strings.NewReader(""), &out, &errs)
			if ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if out.Len()+errs.Len() > 0 {
				t.Errorf("wrote %q %q", out.String(), errs.String())
			}
		})
	}
}

func TestCommandsAndHelpWriteToStdout(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"migrate up": "went up", "--help": "Available Commands", "migrate --help": "up"} {
		var out, errs bytes.Buffer
		err := Execute(t.Context(), program(), strings.Fields(args), strings.NewReader(""), &out, &errs)
		if err != nil || !strings.Contains(out.String(), want) || errs.Len() > 0 {
			t.Errorf("%s: got %q %q %v", args, out.String(), errs.String(), err)
		}
	}
}

func TestWorldTakesTheFlagBeforeTheVariable(t *testing.T) {
	t.Parallel()
	w := &World{Lookup: func(name string) (string, bool) { return "variable.yaml", name == config.Variable }}
	if w.Path() != "variable.yaml" {
		t.Errorf("got %q", w.Path())
	}
	w.path = "flag.yaml"
	if w.Path() != "flag.yaml" {
		t.Errorf("got %q", w.Path())
	}
}

func TestWorldLogsWarnings(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	w := &World{
		Lookup: func(string) (string, bool) { return "", false }, Environ: []string{"PUSHER_PORT=tcp://10.0.0.1"}, Stderr: &errs,
	}
	if _, _, err := w.Load(); err != nil {
		t.Fatal(err)
	}
	if got := errs.String(); !strings.Contains(got, `"variable":"PUSHER_PORT"`) || strings.Contains(got, "10.0.0.1") {
		t.Errorf("got %s", got)
	}
}

func TestVersionIsTheModulesOrTheCommit(t *testing.T) {
	t.Parallel()
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	cases := []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel"},
		{debug.BuildInfo{Settings: []debug.BuildSetting{revision}}, "0123456789ab"},
		{debug.BuildInfo{Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}}, "0123456789ab+changes"},
	}
	for _, c := range cases {
		if got := version(&c.info); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if Version() == "" {
		t.Error("no version")
	}
}

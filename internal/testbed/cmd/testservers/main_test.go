package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestTheCommandGetsTheServersAndItsExitCodeIsKept(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	const script = `echo "$TESTBED_KAFKA,$TESTBED_REDIS,$TESTBED_POSTGRES"; exit 7`
	code, err := run(t.Context(), []string{"--", "sh", "-c", script}, &stdout, &stderr)
	if code != 7 || err != nil {
		t.Errorf("exit code %d, %v; want the command's own 7", code, err)
	}
	given := strings.Split(strings.TrimSpace(stdout.String()), ",")
	if len(given) != 3 || given[0] == "" || given[1] == "" || !strings.HasPrefix(given[2], "postgres://") {
		t.Errorf("the command was given %q, want three addresses", given)
	}
	for _, line := range []string{"kafka: ", "redis: ", "postgres: "} {
		if !strings.Contains(stderr.String(), line) {
			t.Errorf("stderr %q does not say which kind %sis", stderr.String(), line)
		}
	}
	if strings.Contains(stderr.String(), "postgres://") {
		t.Error("stderr shows the password of postgres")
	}
}

func TestWithoutACommandItIsAUsageError(t *testing.T) {
	t.Parallel()
	if code, err := run(t.Context(), []string{"--"}, nil, nil); code != 2 || err == nil {
		t.Errorf("exit code %d, %v; want 2 and how to use it", code, err)
	}
}

func TestAServerThatIsGivenButAwayIsNamed(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("TESTBED_KAFKA", "127.0.0.1:1")
	t.Setenv("TESTBED_POSTGRES", "postgres://user:hidden@127.0.0.1:1/db")
	code, err := run(t.Context(), []string{"true"}, nil, nil)
	if code != 1 || err == nil || !strings.Contains(err.Error(), "TESTBED_") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("exit code %d, %v; want 1 and the variable, without a password", code, err)
	}
}

func TestACommandThatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	if code, err := exitCode(exec.CommandContext(t.Context(), "no-such-program").Run()); code != 1 || err == nil {
		t.Errorf("exit code %d, %v; want 1 and the cause", code, err)
	}
}

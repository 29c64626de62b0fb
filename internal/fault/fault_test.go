package fault

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child makes this test binary a process to break: it passes one point and prints that it lived.
const child = "FAULT_TEST_CHILD"

func TestMain(m *testing.M) {
	if point := os.Getenv(child); point != "" {
		if err := Arm(os.Getenv(Variable)); err != nil {
			panic(err)
		}
		_ = At(Point(point))
		_, _ = os.Stdout.WriteString("lived")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// passing starts a process that passes a point with these faults set.
func passing(t *testing.T, p Point, spec string) (cmd *exec.Cmd, out *strings.Builder) {
	t.Helper()
	out = &strings.Builder{}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), child+"="+string(p), Variable+"="+spec)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

func TestProcessThatDiesIsKilledAndSaysSo(t *testing.T) {
	t.Parallel()
	cmd, out := passing(t, AfterIntent, "intent.after=die")
	_ = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v, want SIGKILL", cmd.ProcessState)
	}
	if out.String() != Said(AfterIntent, Die)+"\n" {
		t.Errorf("said %q", out)
	}
}

func TestOtherPointsAreNotTouched(t *testing.T) {
	t.Parallel()
	cmd, out := passing(t, BeforeIntent, "intent.after=die")
	if err := cmd.Wait(); err != nil || out.String() != "lived" {
		t.Errorf("%v, %q", err, out)
	}
}

// TestStalledProcessGoesOnAfterSIGCONT: Wait4 sees it stopped, and SIGCONT ends the stall.
func TestStalledProcessGoesOnAfterSIGCONT(t *testing.T) {
	t.Parallel()
	cmd, out := passing(t, Fence, "fence=stall")
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v, %v: want it stopped", err, status)
	}
	time.Sleep(50 * time.Millisecond) // time in which a process that is not frozen would end
	_ = cmd.Process.Signal(syscall.SIGCONT)
	if err := cmd.Wait(); err != nil || !strings.HasSuffix(out.String(), "lived") {
		t.Errorf("%v, %q", err, out)
	}
}

// TestErrorBefallsTheFirstPassings is alone with the process's one switch.
//
//nolint:paralleltest // the switch is the whole process's
func TestErrorBefallsTheFirstPassings(t *testing.T) {
	t.Cleanup(disarm)
	if err := Arm("send.after=error:2,claim.before=error"); err != nil {
		t.Fatal(err)
	}
	var got []bool
	for range 3 {
		got = append(got, errors.Is(At(AfterSend), ErrInjected))
	}
	if !slices.Equal(got, []bool{true, true, false}) || !errors.Is(At(BeforeClaim), ErrInjected) || At(Fence) != nil {
		t.Errorf("errors at %v", got)
	}
}

func TestSpecThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	for spec, says := range map[string]string{
		"now=die":             `"now" is no point`,
		"fence=explode":       `"explode" is no kind`,
		"fence":               `"" is no kind`,
		"fence=die:0":         "no number",
		"fence=die:x":         "no number",
		"fence=die,now=stall": `"now" is no point`,
	} {
		if err := Arm(spec); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), Variable) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if err := At(Fence); err != nil {
		t.Errorf("a refused spec set something: %v", err)
	}
}

func TestPointsAreNamedOnce(t *testing.T) {
	t.Parallel()
	seen := map[Point]bool{}
	for _, p := range Points() {
		if seen[p] || p == "" {
			t.Errorf("%q is there twice", p)
		}
		seen[p] = true
	}
}

// BenchmarkOff is what a point costs in production.
func BenchmarkOff(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if At(AfterIntent) != nil {
			b.Fatal("nothing is set")
		}
	}
}

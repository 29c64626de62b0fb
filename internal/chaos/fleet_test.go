package chaos

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// sleeper is a member that does nothing.
func sleeper(t *testing.T) *member {
	t.Helper()
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	m := &member{name: "sleeper", path: path, args: []string{"1000"}, log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() { fleet{m.name: m}.stop() })
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	return m
}

// up reports whether the member has a life that is not over.
func up(m *member) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc == nil {
		return false
	}
	select {
	case <-m.proc.Ended():
		return false
	default:
		return true
	}
}

func TestAMemberThatEndsByItselfIsCountedAndComesBack(t *testing.T) {
	t.Parallel()
	m := sleeper(t)
	m.signal(syscall.SIGKILL) // by nobody of the run
	for deadline := time.Now().Add(10 * time.Second); m.died.Load() != 1 || !up(m); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("counted %d deaths, up again: %t", m.died.Load(), up(m))
		}
	}
}

func TestAMemberThatIsEndedStaysDownAndIsNotCounted(t *testing.T) {
	t.Parallel()
	m := sleeper(t)
	m.end(syscall.SIGKILL)
	m.watches.Wait()
	if up(m) || m.died.Load() != 0 || m.unclean.Load() != 0 {
		t.Errorf("up %t, %d deaths, %d unclean ends; want it down and nothing counted", up(m), m.died.Load(), m.unclean.Load())
	}
	m.signal(syscall.SIGCONT) // reaches nobody
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	m.end(syscall.SIGTERM) // sleep does not exit 0
	if m.unclean.Load() != 1 {
		t.Errorf("%d unclean ends, want 1", m.unclean.Load())
	}
}

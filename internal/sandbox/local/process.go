package local

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is one running child. It dies with this process (on Linux even when this one is killed).
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed once the child was waited for
	err   error         // how it ended; read it after ended
}

// StartProcess starts cmd with its output appended to a file.
func StartProcess(cmd *exec.Cmd, output string) (*Process, error) {
	return startProcess(cmd, output, nil)
}

// startProcess starts cmd as owner (nil: as the caller).
func startProcess(cmd *exec.Cmd, output string, owner *syscall.Credential) (*Process, error) {
	file, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening its output: %w", err)
	}
	defer file.Close() // the child has its own copy
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = childAttr(owner)

	p := &Process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started) // End waits for it through ended
	return p, <-started
}

// run starts the child and waits for it on one locked thread: the kernel's "parent died" signal is bound to the thread
// that started the child, which must live as long.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.ended)
	p.err = p.cmd.Start()
	started <- p.err
	if p.err == nil {
		p.err = p.cmd.Wait()
	}
}

// Ended closes once the child is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err is how the child ended: nil for exit code 0. It may be asked once Ended has closed.
func (p *Process) Err() error { return p.err }

// PID is the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the child; one that has ended gets none.
func (p *Process) Signal(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

// End signals the child, kills it when it has not ended within patience, and returns once it is gone.
func (p *Process) End(signal syscall.Signal, patience time.Duration) {
	p.Signal(signal)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// tail is the end of a file, for an error message; empty when it cannot be read.
func tail(file string) []byte {
	const most = 2000
	text, _ := os.ReadFile(file)
	return bytes.TrimSpace(text[max(0, len(text)-most):])
}

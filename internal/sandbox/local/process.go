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

// process is one running child.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed once the child was waited for
	err   error         // how it ended; read it after ended
}

// startProcess starts cmd as owner (nil: as the caller) with its output in a file.
func startProcess(cmd *exec.Cmd, output string, owner *syscall.Credential) (*process, error) {
	file, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening its output: %w", err)
	}
	defer file.Close() // the child has its own copy
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = childAttr(owner)

	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started) // end waits for it through ended
	return p, <-started
}

// run starts the child and waits for it on one locked thread: the kernel's "parent died" signal is bound to the thread
// that started the child, which must live as long.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.ended)
	p.err = p.cmd.Start()
	started <- p.err
	if p.err == nil {
		p.err = p.cmd.Wait()
	}
}

// end signals the child, kills it when it has not ended within patience, and returns once it is gone.
func (p *process) end(signal syscall.Signal, patience time.Duration) {
	_ = p.cmd.Process.Signal(signal) // an error means that it has ended already
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

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 60 * time.Second      // the longest a server may take until it answers
	stopTimeout  = 10 * time.Second      // how long a server may shut down before it is killed
	pollEvery    = 20 * time.Millisecond // how often a starting server is asked whether it is ready
)

// ErrNotInstalled says that this machine lacks the server's programs.
var ErrNotInstalled = errors.New("not installed")

// Server is one server process. Its methods may be called from any goroutine.
type Server struct {
	Name    string   // what it is: kafka, redis, postgres
	Version string   // as the program or its jars tell it, e.g. 4.1.2
	Addr    string   // host:port, the same over restarts
	URL     string   // how clients name it: postgres://..., else empty
	Doors   []string // Kafka's other listeners, one for each address that it was to tell

	dir     string                          // data, settings and output; removed by Close
	command func() *exec.Cmd                // a fresh command for each start
	ready   func(ctx context.Context) error // nil once the server answers
	stop    syscall.Signal                  // asks it to shut down
	crash   syscall.Signal                  // ends it as a crash would; zero: SIGKILL
	owner   *syscall.Credential             // who runs it; nil: the caller

	mu   sync.Mutex // guards proc
	proc *Process   // nil while stopped
}

// Start runs the server and returns once it answers. Starting a running server does nothing.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		return nil
	}
	output := filepath.Join(s.dir, "output.log")
	proc, err := startProcess(s.command(), output, s.owner)
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.Name, err)
	}
	if err := awaitReady(ctx, proc, s.ready); err != nil {
		proc.End(syscall.SIGKILL, 0)
		return fmt.Errorf("starting %s on %s: %w\n%s", s.Name, s.Addr, err, tail(output))
	}
	s.proc = proc
	return nil
}

// awaitReady asks until the server answers, its process ends, ctx ends or startTimeout has passed.
func awaitReady(ctx context.Context, proc *Process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-proc.ended:
			return fmt.Errorf("the process ended: %w", proc.err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// PID is the server's process id; 0 while it is stopped.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.PID()
}

// Stop shuts the server down in its own way, within stopTimeout, and keeps its data for the next Start.
func (s *Server) Stop() error { return s.end(s.stop) }

// Kill ends the server at once, as a crash would, and keeps its data for the next Start.
func (s *Server) Kill() error {
	if s.crash != 0 {
		return s.end(s.crash)
	}
	return s.end(syscall.SIGKILL)
}

func (s *Server) end(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	s.proc.End(signal, stopTimeout)
	s.proc = nil
	return nil
}

// Close stops the server and removes its data.
func (s *Server) Close() error {
	return errors.Join(s.Stop(), os.RemoveAll(s.dir))
}

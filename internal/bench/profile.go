package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profile begins a CPU profile in dir. stop ends it, and writes beside it what was allocated so far.
func profile(dir, role string) (stop func() error, err error) {
	name := filepath.Join(dir, fmt.Sprintf("%s-%d", role, os.Getpid()))
	cpu, err := os.Create(name + ".cpu.pprof")
	if err != nil {
		return nil, fmt.Errorf("writing a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, fmt.Errorf("profiling: %w", errors.Join(err, cpu.Close()))
	}
	return func() error {
		pprof.StopCPUProfile()
		allocated, err := os.Create(name + ".allocs.pprof")
		if err != nil {
			return errors.Join(cpu.Close(), fmt.Errorf("writing a profile: %w", err))
		}
		return errors.Join(cpu.Close(), pprof.Lookup("allocs").WriteTo(allocated, 0), allocated.Close())
	}, nil
}

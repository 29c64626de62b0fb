package assemble

import (
	"runtime/debug"
	"testing"

	"pusher/internal/config"
)

// The targets are the whole process's: nothing runs beside this test.
func TestHeapLeavesTheEnvironmentsTargets(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	c := &config.Config{Worker: config.Worker{WaitingBytes: 1 << 20}}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "off")
			Heap(c)
			if percent := debug.SetGCPercent(100); percent != 100 || debug.SetMemoryLimit(-1) != limit {
				t.Errorf("targets of %d%% and %d bytes", percent, debug.SetMemoryLimit(-1))
			}
		})
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	Heap(c)
	if percent := debug.SetGCPercent(100); percent != heapGrowth || debug.SetMemoryLimit(-1) != heapBase+2<<20 {
		t.Errorf("targets of %d%% and %d bytes", percent, debug.SetMemoryLimit(-1))
	}
}

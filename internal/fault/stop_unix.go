//go:build unix

package fault

import (
	"os"
	"syscall"
	"time"
)

// stop freezes the whole process until somebody sends it SIGCONT. The signal may reach another thread first, which on a
// busy machine has to wait for its turn: this one takes no step meanwhile.
func stop() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	time.Sleep(500 * time.Millisecond)
}

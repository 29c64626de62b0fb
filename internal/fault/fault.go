package fault

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// Variable names the environment variable that switches faults on.
const Variable = "CRASH_TEST_FAULTS"

// Kind is what happens at a point.
type Kind string

// What happens.
const (
	Die   Kind = "die"   // the process is killed, as by kill -9
	Error Kind = "error" // the call fails
	Stall Kind = "stall" // the process stops itself, as by SIGSTOP, until SIGCONT
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Die, Error, Stall} }

// ErrInjected is the error of a point whose kind is Error.
var ErrInjected = errors.New("fault injected")

// trap is one fault that is set.
type trap struct {
	kind Kind
	left atomic.Int64 // passings that it still befalls
}

// traps are all that are set; nil: none, which is the one thing that a passing looks at.
var traps atomic.Pointer[map[Point]*trap] //nolint:gochecknoglobals // a switch of the whole process, as a signal is

// At passes a point. It returns an error where a fault of kind Error is set, and never returns where one of kind Die
// is. With nothing set it does nothing.
func At(p Point) error {
	if traps.Load() == nil {
		return nil
	}
	return pass(p)
}

// pass springs the trap at p, if there is one with a passing left.
func pass(p Point) error {
	t := (*traps.Load())[p]
	if t == nil || t.left.Add(-1) < 0 {
		return nil
	}
	_, _ = fmt.Fprintln(os.Stderr, Said(p, t.kind)) // unbuffered: it is out before the process is gone
	switch t.kind {
	case Die:
		die()
	case Stall:
		stop()
	case Error:
		return fmt.Errorf("%s: %w", p, ErrInjected)
	}
	return nil
}

// Said is the line that a process writes to stderr when a fault befalls it.
func Said(p Point, k Kind) string { return fmt.Sprintf("fault injected: %s: %s", p, k) }

// die kills the process as nothing in it can notice.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal is on its way
}

// Arm sets what spec says: faults as in the package's comment, separated by commas. An empty spec sets nothing.
func Arm(spec string) error {
	if spec == "" {
		return nil
	}
	set := map[Point]*trap{}
	for one := range strings.SplitSeq(spec, ",") {
		p, t, err := parse(one)
		if err != nil {
			return fmt.Errorf("%s: %w", Variable, err)
		}
		set[p] = t
	}
	traps.Store(&set)
	return nil
}

// parse reads point=kind[:passings].
func parse(text string) (Point, *trap, error) {
	point, what, _ := strings.Cut(text, "=")
	kind, passings, counted := strings.Cut(what, ":")
	t := &trap{kind: Kind(kind)}
	t.left.Store(1)
	switch {
	case !slices.Contains(Points(), Point(point)):
		return "", nil, fmt.Errorf("%q is no point: there are %v", point, Points())
	case !slices.Contains(Kinds(), t.kind):
		return "", nil, fmt.Errorf("%q is no kind: there are %v", kind, Kinds())
	}
	if counted {
		n, err := strconv.ParseInt(passings, 10, 32)
		if err != nil || n < 1 {
			return "", nil, fmt.Errorf("%q is no number of passings", passings)
		}
		t.left.Store(n)
	}
	return Point(point), t, nil
}

// disarm takes everything off again, for this package's own tests.
func disarm() { traps.Store(nil) }

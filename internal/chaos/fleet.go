package chaos

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	points "pusher/internal/fault"
	"pusher/internal/sandbox/local"
)

const (
	// stopMost is how long a process may take from SIGTERM to its end: worker.grace and the closing, with room for a
	// machine that is busy.
	stopMost = 20 * time.Second
	// bornAgain is how long a process that ended by itself stays away.
	bornAgain = time.Second
)

// member is one process of the fleet, over all its lives.
type member struct {
	name string
	path string
	args []string
	env  []string
	log  string // the file that its output goes to

	mu      sync.Mutex     // guards all below
	proc    *local.Process // nil while it is down
	wanted  bool           // it ends by nobody's will while this is set
	watches sync.WaitGroup // of lives; stop waits for them

	died    atomic.Int64 // ends by nobody's will
	unclean atomic.Int64 // SIGTERMs after which it did not exit 0 in time
}

// fleet is all processes, by name.
type fleet map[string]*member

func newFleet(w *world, bin string, c cast) fleet {
	f := fleet{}
	add := func(name, program string, args ...string) *member {
		m := &member{
			name: name, path: filepath.Join(bin, program), args: args, env: w.environment(w.by(name)),
			log: filepath.Join(w.dir, name+".log"),
		}
		f[name] = m
		return m
	}
	for i, name := range c.pushers {
		m := add(name, "pusher", "run")
		switch {
		case i == 0:
		case i == len(c.pushers)-1: // a share of the SMS goes by the provider that cannot be asked
			m.env = append(m.env, "PUSHER_CHANNELS_SMS_PROVIDERS=tencent")
		default: // and one by whichever takes it
			m.env = append(m.env, "PUSHER_CHANNELS_SMS_PROVIDERS=aliyun,tencent")
		}
	}
	for _, name := range c.compensators {
		add(name, "compensator", "--every", "2s", "--json")
	}
	return f
}

// start starts every process.
func (f fleet) start() error {
	for _, m := range f {
		if err := m.start(); err != nil {
			return err
		}
	}
	return nil
}

// stop ends every process in order, at once for all.
func (f fleet) stop() {
	var wg sync.WaitGroup
	for _, m := range f {
		wg.Go(func() { m.end(syscall.SIGTERM) })
	}
	wg.Wait()
	for _, m := range f {
		m.watches.Wait()
	}
}

// start starts the process, and again whenever it ends by nobody's will.
func (m *member) start() error { return m.begin("") }

// begin starts a life of the process. With a trap (see package fault) it is meant to end there, and nobody brings it back.
func (m *member) begin(trap string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	cmd := exec.Command(m.path, m.args...) //nolint:noctx // it lives until a fault, or the end of the run, ends it
	cmd.Env = m.env
	if trap != "" {
		cmd.Env = append(slices.Clip(m.env), points.Variable+"="+trap)
	}
	proc, err := local.StartProcess(cmd, m.log)
	if err != nil {
		return fmt.Errorf("starting %s: %w", m.name, err)
	}
	m.proc, m.wanted = proc, trap == ""
	m.watches.Go(func() { m.watch(proc) })
	return nil
}

// watch sees to it that a process that ended by itself is counted and comes back.
func (m *member) watch(proc *local.Process) {
	<-proc.Ended()
	if !m.fell(proc) {
		return
	}
	m.died.Add(1)
	time.Sleep(bornAgain)
	if m.fell(proc) {
		_ = m.start() // it could be started before
	}
}

// fell reports whether this life is the current one and nobody wanted its end.
func (m *member) fell(proc *local.Process) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc == proc && m.wanted
}

// end ends the process by a signal. One that was told to stop in order and did not is counted.
func (m *member) end(signal syscall.Signal) {
	m.mu.Lock()
	proc := m.proc
	m.proc, m.wanted = nil, false
	m.mu.Unlock()
	if proc == nil {
		return
	}
	proc.End(signal, stopMost)
	if signal == syscall.SIGTERM && proc.Err() != nil {
		m.unclean.Add(1)
	}
}

// signal sends a signal to the process, if it is up.
func (m *member) signal(signal syscall.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.Signal(signal)
	}
}

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"pusher/internal/sandbox/provider"
)

// strike carries out the plan and returns once every fault is healed, with what could not be healed. began is the
// beginning of the run.
func (r *run) strike(ctx context.Context, faults []fault, began time.Time) error {
	var wg sync.WaitGroup
	broken := make(chan error, len(faults))
	for _, f := range faults {
		if !sleep(ctx, time.Until(began.Add(f.at))) {
			break
		}
		wg.Go(func() {
			if err := r.befall(ctx, f); err != nil {
				broken <- fmt.Errorf("%s, at %s on %v: %w", f.kind, f.at.Round(time.Millisecond), f.on, err)
			}
		})
	}
	wg.Wait()
	close(broken)
	var failed []error
	for err := range broken {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// targets knows what is under a fault, or has just been: on a busy machine a server takes its time to come back, and one
// that is struck again before it does anything proves nothing.
type targets struct {
	mu    sync.Mutex
	until map[string]time.Time // guarded by mu; not to be struck before
}

// take claims what a fault befalls; false when some of it is not to be struck yet.
func (t *targets) take(names []string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(names, func(name string) bool { return now.Before(t.until[name]) }) {
		return false
	}
	t.mark(names, now.Add(time.Hour)) // until it is healed
	return true
}

// rest lets what was healed alone until then.
func (t *targets) rest(names []string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mark(names, until)
}

func (t *targets) mark(names []string, until time.Time) {
	if t.until == nil {
		t.until = map[string]time.Time{}
	}
	for _, name := range names {
		t.until[name] = until
	}
}

// befall is one fault from its beginning to its healing, which comes also when ctx ends.
func (r *run) befall(ctx context.Context, f fault) error {
	if !r.targets.take(f.on, time.Now()) {
		r.notef("%s on %v: passed over, it has not recovered from the last", f.kind, f.on)
		return nil
	}
	defer func() { r.targets.rest(f.on, time.Now().Add(f.rest)) }()
	r.faults.count(string(f.kind))
	r.notef("%s on %v for %s", f.kind, f.on, f.last.Round(time.Millisecond))
	strike, heal := r.effect(f)
	if err := strike(); err != nil {
		return err
	}
	sleep(ctx, f.last)
	err := heal(context.WithoutCancel(ctx))
	r.notef("%s on %v is over", f.kind, f.on)
	return err
}

// effect is what a fault does and what heals it.
func (r *run) effect(f fault) (strike func() error, heal func(context.Context) error) {
	switch f.kind {
	case processKilled, processTrapped, processFrozen, processRolled:
		return r.onProcess(f)
	case lineCut, lineHung, lineSlow, lineReset:
		return r.onLines(f)
	case redisFlushed, redisEmpty, redisBack, postgresStop, postgresCrash, kafkaStop, kafkaCrash:
		return r.onServer(f)
	case providersStorm:
		set := func(faults ...provider.Fault) error {
			return r.world.sandbox.SetFaults(slices.Concat(barred(), faults, usualFaults()))
		}
		return func() error { return set(storm(f.draw)) }, func(context.Context) error { return set() }
	}
	return func() error { return fmt.Errorf("nobody knows how") }, nil
}

func (r *run) onProcess(f fault) (strike func() error, heal func(context.Context) error) {
	m := r.fleet[f.on[0]]
	again := func(context.Context) error { return m.start() }
	does := func(do func(syscall.Signal), signal syscall.Signal) func() error {
		return func() error { do(signal); return nil }
	}
	switch f.kind {
	case processKilled:
		return does(m.end, syscall.SIGKILL), again
	case processTrapped:
		kill := does(m.end, syscall.SIGKILL)
		trap := trapOf(slices.Contains(r.cast.compensators, m.name), f.draw)
		return func() error { return errors.Join(kill(), m.begin(trap)) },
			func(ctx context.Context) error { return errors.Join(kill(), again(ctx)) }
	case processRolled:
		return does(m.end, syscall.SIGTERM), again
	default:
		return does(m.signal, syscall.SIGSTOP), func(context.Context) error { m.signal(syscall.SIGCONT); return nil }
	}
}

func (r *run) onLines(f fault) (strike func() error, heal func(context.Context) error) {
	lines := r.world.lines
	each := func(do func(name string) error) error {
		var failed []error
		for _, name := range f.on {
			failed = append(failed, do(name))
		}
		return errors.Join(failed...)
	}
	toxics := map[kind][]string{lineSlow: slowToxics(f.draw), lineReset: resetToxics(f.draw), lineHung: hungToxics()}
	if f.draw%3 == 0 {
		toxics[lineHung] = halfHungToxics(f.draw >> 8)
	}
	strike = func() error {
		return each(func(name string) error {
			if f.kind == lineCut {
				lines.cut(name)
				return nil
			}
			return lines.poison(name, toxics[f.kind]...)
		})
	}
	return strike, func(context.Context) error { return each(lines.mend) }
}

func (r *run) onServer(f fault) (strike func() error, heal func(context.Context) error) {
	server, keys := r.world.servers[f.on[0]], r.world.keys
	flush := func() error { return keys.FlushAll(context.Background()).Err() }
	save := func() error { return keys.Save(context.Background()).Err() }
	nothing := func(context.Context) error { return nil }
	switch f.kind {
	case redisFlushed:
		return flush, nothing
	case redisEmpty: // what is written after the save is lost with the process
		return func() error { return errors.Join(flush(), save(), server.Kill()) }, server.Start
	case redisBack: // what it forgets is what came while the fault lasted
		return save, func(ctx context.Context) error { return errors.Join(server.Kill(), server.Start(ctx)) }
	case postgresStop, kafkaStop:
		return server.Stop, server.Start
	default:
		return server.Kill, server.Start
	}
}

// sleep waits for d; false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pusher/internal/push"
)

const (
	writeEvery = 100 * time.Millisecond
	lookEvery  = 3 * time.Second // at what is left to do, once everything is healed
	tellEvery  = 10 * time.Second
	quietMost  = 4 * time.Minute // for the last delivery, after the healing
	stragglers = 4 * time.Second // a request that is late arrives within this
)

// Options of a run.
type Options struct {
	For          time.Duration // of writing and faults; the healing and the rest of the work come after
	Seed         uint64        // the same seed makes the same events and the same plan of faults
	Rate         float64       // new events a second
	Every        time.Duration // mean time from one fault to the next
	Pushers      int
	Compensators int
	Bin          string    // directory with the programs pusher and compensator
	Out          io.Writer // the table
	Err          io.Writer // progress
}

// ErrBroken says that the referee found something sent twice, lost, or left undone.
var ErrBroken = errors.New("the promise is broken: see the table")

// run is one run under way.
type run struct {
	Options

	cast   cast
	world  *world
	fleet  fleet
	author *author
	faults counter
	notes  io.Writer // what happened when; one line a write

	targets targets

	records int // written and acknowledged; the producer's alone until it has ended
}

// Run runs it all and prints the table. It returns nil only if nothing was sent twice, nothing was lost and nothing was
// left undone; then no file of the run stays, else Err is told where they are.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "pusher-chaos-")
	if err != nil {
		return fmt.Errorf("making a directory for the logs: %w", err)
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(dir)
			return
		}
		_, _ = fmt.Fprintf(o.Err, "The logs of all processes, the faults and what went wrong: %s\n", dir)
	}()
	notes, err := os.Create(filepath.Join(dir, "faults.log"))
	if err != nil {
		return fmt.Errorf("making the log of faults: %w", err)
	}
	defer notes.Close()
	r := &run{Options: o, author: newAuthor(o.Seed), notes: notes}
	v, err := r.play(ctx, dir)
	if err != nil {
		return err
	}
	v.print(o.Out)
	if !v.good() {
		return ErrBroken
	}
	return nil
}

// play is the story: start, write and strike, heal, wait until all is quiet, judge.
func (r *run) play(ctx context.Context, dir string) (v *verdict, err error) {
	began := time.Now()
	r.cast = newCast(r.Pushers, r.Compensators)
	c := r.cast
	faults := plan(r.Seed, r.For, r.Every, lease, c)
	r.tellf("Seed %d: %d faults planned in %s; starting Kafka, Redis, PostgreSQL and %d processes …", r.Seed, len(faults), r.For, len(c.processes()))
	if r.world, err = newWorld(ctx, dir, r.Seed, c); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.world.close()) }()
	r.fleet = newFleet(r.world, r.Bin, c)
	defer r.fleet.stop()
	if err := r.fleet.start(); err != nil {
		return nil, err
	}
	if err := r.storm(ctx, faults); err != nil {
		return nil, err
	}
	r.tellf("Everything is healed; the rest of the work …")
	healed := time.Now()
	v, err = r.untilQuiet(ctx)
	if err != nil {
		return nil, err
	}
	v.healed = time.Since(healed)
	r.fleet.stop()
	if v.audit, err = r.audit(ctx, began); err != nil {
		return nil, err
	}
	return v, r.world.report(ctx, v)
}

// storm writes events and strikes until the time is over and every fault is healed.
func (r *run) storm(ctx context.Context, faults []fault) error {
	began := time.Now()
	writing, enough := context.WithDeadline(ctx, began.Add(r.For))
	defer enough()
	var wg sync.WaitGroup
	var unwritten error
	wg.Go(func() { unwritten = r.write(writing, ctx) })
	wg.Go(func() { r.report(writing, began) })
	err := r.strike(ctx, faults, began)
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(err, unwritten, r.world.sandbox.SetFaults(barred()))
}

// write writes new events at the rate until writing ends; ctx is the life of the run. What was begun is written until it is acknowledged, however
// often: an event counts for the referee once it is in Kafka, and a record that is there twice is a duplicate more.
func (r *run) write(writing, ctx context.Context) error {
	owed := 0.0
	for sleep(writing, writeEvery) {
		var records []push.Record
		for owed += r.Rate * writeEvery.Seconds(); owed >= 1; owed-- {
			records = append(records, r.author.next(time.Now())...)
		}
		for tries := 1; ; tries++ {
			err := r.world.producer.Publish(ctx, records)
			if err == nil {
				break
			}
			if tries == 1 {
				r.notef("writing events, until it works: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
			}
			if !sleep(ctx, writeEvery) {
				return context.Cause(ctx)
			}
		}
		r.records += len(records)
	}
	return nil
}

// report tells how it goes until writing ends.
func (r *run) report(writing context.Context, began time.Time) {
	for sleep(writing, tellEvery) {
		r.tellf("%4s  %d faults, %d messages accepted", time.Since(began).Round(time.Second), r.faults.sum(), r.world.sandbox.Journal().Total(""))
	}
}

// untilQuiet judges again and again until nothing is left to do, or it has taken too long; then once more, when the
// last straggler must have arrived.
func (r *run) untilQuiet(ctx context.Context) (*verdict, error) {
	deadline := time.Now().Add(quietMost)
	for {
		v, err := r.judge(ctx)
		if err == nil && (v.quiet() || time.Now().After(deadline)) {
			sleep(ctx, stragglers)
			return r.judge(ctx)
		}
		if err != nil && time.Now().After(deadline) {
			return nil, err
		}
		if err == nil {
			r.notef("left to do: %s", v.left())
		}
		if !sleep(ctx, lookEvery) {
			return nil, context.Cause(ctx)
		}
	}
}

func (r *run) tellf(format string, args ...any) { _, _ = fmt.Fprintf(r.Err, format+"\n", args...) }

func (r *run) notef(format string, args ...any) {
	_, _ = fmt.Fprintf(r.notes, "%s "+format+"\n", append([]any{time.Now().UTC().Format("15:04:05.000")}, args...)...)
}

// newCast names the processes.
func newCast(pushers, compensators int) cast {
	c := cast{services: []string{onKafka, onRedis, onPostgres, onProviders}}
	for i := range pushers {
		c.pushers = append(c.pushers, fmt.Sprintf("pusher-%d", i+1))
	}
	for i := range compensators {
		c.compensators = append(c.compensators, fmt.Sprintf("compensator-%d", i+1))
	}
	return c
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"

	"pusher/internal/assemble"
	"pusher/internal/push"
	"pusher/internal/telemetry"
)

// The pace of the demo.
const (
	writeBatch   = 50                     // events sent at once, with all their copies
	writeEvery   = 200 * time.Millisecond // between two batches
	lookEvery    = 250 * time.Millisecond // at how far the deliveries are
	passEvery    = time.Second            // of the compensator
	patience     = 90 * time.Second       // for the last delivery
	replayShare  = 10                     // one event in so many is sent again after Redis is emptied
	instanceStop = 30 * time.Second       // for an instance to end
)

// Options of a demo.
type Options struct {
	Events int       // business facts
	Seed   uint64    // the same seed tells the same story
	Stay   bool      // keep the system up after the summary, until ctx ends
	Out    io.Writer // the summary
	Err    io.Writer // progress
	Log    zerolog.Logger
}

// ErrBroken says that the referee found something sent twice, lost, or in a state that it should not be in.
var ErrBroken = errors.New("the promise is broken: see the table")

// Run runs the demo. It returns nil only if nothing was sent twice and every delivery is where its story says.
func Run(ctx context.Context, o Options) error {
	_, _ = fmt.Fprintln(o.Err, "Starting Kafka, Redis, PostgreSQL and the providers inside this process …")
	w, err := newWorld(ctx, o.Seed)
	if err != nil {
		return err
	}
	defer func() { _ = w.close() }()
	s := &show{
		Options: o, world: w,
		events: scenario(o.Events, rand.New(rand.NewPCG(o.Seed, 1)), time.Now()),
	}
	began := time.Now()
	verdict, err := s.run(ctx)
	if err != nil {
		return err
	}
	verdict.took = time.Since(began)
	verdict.print(o.Out)
	if o.Stay && ctx.Err() == nil {
		s.stay(ctx)
	}
	if !verdict.good() {
		return ErrBroken
	}
	return nil
}

// show is one demo under way.
type show struct {
	Options

	world     *world
	events    []event
	instances []*instance
	producers *producers
	recovered push.Tally
}

// run plays the story from the first event to the verdict. The instances are stopped before it returns, unless they
// are to stay.
func (s *show) run(ctx context.Context) (*verdict, error) {
	for range 2 {
		if err := s.startInstance(ctx); err != nil {
			return nil, err
		}
	}
	defer s.stopUnlessStaying()
	var err error
	if s.producers, err = s.openDoor(ctx); err != nil {
		return nil, err
	}
	referee, err := newReferee(ctx, s.world, s.events)
	if err != nil {
		return nil, err
	}
	defer referee.close()
	passes, stopPasses := context.WithCancel(ctx)
	var compensator sync.WaitGroup
	compensator.Go(func() { s.compensate(passes) })

	err = s.play(ctx, referee)
	stopPasses()
	compensator.Wait()
	if err != nil {
		return nil, err
	}
	verdict, err := referee.judge(ctx)
	if err != nil {
		return nil, err
	}
	verdict.recovered = s.recovered
	verdict.requests, verdict.replays = int(s.producers.requests.Load()), int(s.producers.replays.Load())
	verdict.posts, verdict.cuts = int(s.producers.hasty.posts.Load()), int(s.producers.hasty.cuts.Load())
	for _, i := range s.instances {
		verdict.stopped.add(i.pusher.Stopped())
	}
	return verdict, nil
}

// play sends the events, restarts an instance half-way, empties Redis, sends some events once more, and waits for the
// last delivery. With Redis the gateway forgets its keys, too: what is sent once more reaches the topic again.
func (s *show) play(ctx context.Context, referee *referee) error {
	bar := s.bar("sending events", len(s.events))
	for i := 0; i < len(s.events); i += writeBatch {
		part := s.events[i:min(i+writeBatch, len(s.events))]
		if err := s.producers.send(ctx, part); err != nil {
			return err
		}
		_ = bar.Add(len(part))
		if i/writeBatch == len(s.events)/writeBatch/2 {
			if err := s.restart(ctx); err != nil {
				return err
			}
		}
		if !sleep(ctx, writeEvery) {
			return context.Cause(ctx)
		}
	}
	_ = bar.Finish()
	if err := s.forget(ctx); err != nil {
		return err
	}
	var again []event
	for i := 0; i < len(s.events); i += replayShare {
		again = append(again, s.events[i])
	}
	if err := s.producers.send(ctx, again); err != nil {
		return err
	}
	return s.wait(ctx, referee)
}

// forget empties Redis, as a failover without its last writes may: from here on the push log alone knows.
func (s *show) forget(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: s.world.redis.Addr})
	defer func() { _ = client.Close() }()
	if err := client.FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("emptying Redis: %w", err)
	}
	return nil
}

// wait shows how many deliveries are where they should be, until all are and every record is taken care of.
func (s *show) wait(ctx context.Context, referee *referee) error {
	bar := s.bar("deliveries at their end", referee.deliveries())
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		at, err := referee.arrived(ctx)
		if err != nil {
			return err
		}
		_ = bar.Set(at)
		if at == referee.deliveries() && s.lag() == 0 {
			break // else the verdict says what is missing
		}
		if !sleep(ctx, lookEvery) {
			return context.Cause(ctx)
		}
	}
	return bar.Finish()
}

// compensate runs passes until ctx ends, as cron would; the one under way comes to its end.
func (s *show) compensate(ctx context.Context) {
	for sleep(ctx, passEvery) {
		sum, err := assemble.PassEvery(context.WithoutCancel(ctx), s.world.cfg, s.Log, passEvery, false, nil)
		s.recovered.Add(sum.Tally)
		if err != nil {
			s.Log.Warn().Err(err).Msg("a pass did not complete")
		}
	}
}

// bar draws progress: lively for a person, a line now and then for a file.
func (s *show) bar(what string, total int) *progressbar.ProgressBar {
	throttle := 100 * time.Millisecond
	if !telemetry.Terminal(s.Err) {
		throttle = 5 * time.Second
	}
	return progressbar.NewOptions(total, progressbar.OptionSetWriter(s.Err), progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(40), progressbar.OptionShowCount(), progressbar.OptionOnCompletion(func() { _, _ = fmt.Fprintln(s.Err) }),
		progressbar.OptionThrottle(throttle))
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

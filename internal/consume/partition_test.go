package consume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

// scripted is a fetcher whose answers the test writes.
type scripted func(ctx context.Context) (kafka.Message, error)

func (s scripted) FetchMessage(ctx context.Context) (kafka.Message, error) { return s(ctx) }
func (s scripted) Close() error                                            { return nil }

// blocked fetches nothing, as at the end of a partition.
func blocked(ctx context.Context) (kafka.Message, error) {
	<-ctx.Done()
	return kafka.Message{}, ctx.Err()
}

// commits keeps what is committed for partition 0 of topic "t".
type commits struct {
	mu   sync.Mutex
	made []int64 // guarded by mu
	err  error   // guarded by mu
}

func (c *commits) CommitOffsets(offsets map[string]map[int]int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.made = append(c.made, offsets["t"][0])
	return nil
}

func (c *commits) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *commits) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.made)
}

// handles is a Handler that is a function.
type handles func(ctx context.Context, r push.Record, done func(error)) error

func (h handles) Handle(ctx context.Context, r push.Record, done func(error)) error {
	return h(ctx, r, done)
}

func doneAtOnce(_ context.Context, _ push.Record, done func(error)) error {
	done(nil)
	return nil
}

// letterbox is a publisher that takes every letter.
type letterbox struct{ written atomic.Int64 }

func (l *letterbox) Publish(_ context.Context, records []push.Record) error {
	l.written.Add(int64(len(records)))
	return nil
}

// journal keeps the events told.
type journal struct {
	mu   sync.Mutex
	told []Event // guarded by mu
}

func (j *journal) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, e)
}

func (j *journal) all() []Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.told)
}

// alone is a generation with partition 0 of topic "t" on no Kafka; open makes its readers.
func alone(t *testing.T, h handles, open func(offset int64) fetcher) (*generation, *commits, *journal) {
	t.Helper()
	told := &journal{}
	c, err := New(Config{
		Cluster: Cluster{Brokers: []string{"127.0.0.1:1"}}, Group: "g", Topics: []string{"t"}, DeadLetterTopic: "d",
		WatchEvery: 24 * time.Hour,
		OnEvent:    told.add,
	}, h, nil)
	if err != nil {
		t.Fatalf("making a consumer: %v", err)
	}
	c.letters = &letterbox{}
	c.open = func(_ string, _ int, offset int64, _ *atomic.Int64, _ func(error)) fetcher { return open(offset) }
	made := &commits{}
	g := &generation{c: c, id: 1, commits: made}
	g.partitions = []*partition{newPartition(g, "t", kafka.PartitionAssignment{ID: 0, Offset: kafka.FirstOffset})}
	return g, made, told
}

// stream gives the offsets from the one asked for up to n.
func stream(n int64) func(offset int64) fetcher {
	return func(offset int64) fetcher {
		next := max(offset, 0)
		return scripted(func(ctx context.Context) (kafka.Message, error) {
			if next >= n {
				return blocked(ctx)
			}
			m := kafka.Message{Topic: "t", Offset: next, Value: []byte("v"), HighWaterMark: n}
			next++
			return m, nil
		})
	}
}

func TestFieldReport05c_AnEOFWhileRunningIsNoHotLoopAndNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int64
		mended := stream(1)
		g, made, told := alone(t, doneAtOnce, func(offset int64) fetcher {
			if opened.Add(1) <= 20 {
				return scripted(func(context.Context) (kafka.Message, error) { return kafka.Message{}, io.EOF })
			}
			return mended(offset)
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := opened.Load(); n < 3 || n > 15 {
			t.Errorf("%d readers made in 10 s", n)
		}
		if n := len(told.all()); n < 2 || n > 6 {
			t.Errorf("%d events told in 10 s: %v", n, told.all())
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if made.String() != "[1]" {
			t.Errorf("commits %v after the reader was mended, want [1]", made)
		}
		stop()
		<-ended
	})
}

func TestAReaderThatDiesGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var starts []int64
		var got []int64
		g, _, _ := alone(t, func(_ context.Context, r push.Record, done func(error)) error {
			got = append(got, r.Offset)
			done(nil)
			return nil
		}, func(offset int64) fetcher {
			starts = append(starts, offset)
			next, until := max(offset, 0), max(offset, 0)+2
			return scripted(func(ctx context.Context) (kafka.Message, error) {
				switch {
				case len(starts) > 3:
					return blocked(ctx)
				case next == until:
					return kafka.Message{}, errors.New("connection reset")
				}
				next++
				return kafka.Message{Topic: "t", Offset: next - 1}, nil
			})
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := fmt.Sprint([]int64{kafka.FirstOffset, 2, 4, 6}); fmt.Sprint(starts) != want {
			t.Errorf("readers started at %v, want %v", starts, want)
		}
		if fmt.Sprint(got) != "[0 1 2 3 4 5]" {
			t.Errorf("handed out %v", got)
		}
		stop()
		<-ended
	})
}

func TestTheDrainOfAGenerationIsBoundedBelowTheSessionTimeoutAndCommitsThePrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var late func(error)
		g, made, told := alone(t, func(_ context.Context, r push.Record, done func(error)) error {
			switch r.Offset {
			case 0:
				time.AfterFunc(3*time.Second, func() { done(nil) })
			case 1:
				late = done
			default:
				done(nil)
			}
			return nil
		}, stream(3))
		alive, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(t.Context(), t.Context(), alive) }()
		time.Sleep(time.Second)
		end()
		began := time.Now()
		<-ended
		took, limit := time.Since(began), g.c.cfg.SessionTimeout
		if took != g.c.cfg.DrainTimeout || took >= limit {
			t.Errorf("drained for %v, want %v", took, g.c.cfg.DrainTimeout)
		}
		if made.String() != "[0 1]" {
			t.Errorf("commits %v, want [0 1]: where it began, the record done while it drained, and nothing beyond", made)
		}
		late(nil)
		synctest.Wait()
		if made.String() != "[0 1]" {
			t.Errorf("commits %v: a late done was committed through a generation that is over", made)
		}
		if all := told.all(); all[len(all)-1].Kind != KindUndrained {
			t.Errorf("the events are %v, want %s last", all, KindUndrained)
		}
	})
}

func TestCommitsAreMadeOnATimerWhenAdvancedAndAFailedOneAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, made, _ := alone(t, doneAtOnce, stream(1000))
		made.fail(errors.New("coordinator moved"))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		time.Sleep(3*g.c.cfg.CommitEvery + time.Millisecond)
		synctest.Wait()
		if got := g.c.Stats(); got.CommitsFailed != 3 || got.Partitions[0].Committed != unknown {
			t.Errorf("%d commits failed, %d committed; want 3 and none", got.CommitsFailed, got.Partitions[0].Committed)
		}
		made.fail(nil)
		time.Sleep(time.Minute)
		stop()
		<-ended
		if made.String() != "[1000]" {
			t.Errorf("commits %v, want one of 1000", made)
		}
	})
}

func TestFieldReport04_APartitionWhoseBrokerSaysNothingIsDeaf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, _ := alone(t, doneAtOnce, func(int64) fetcher { return scripted(blocked) })
		g.c.setLayout(layout{"t": 1})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		p := g.partitions[0]
		for range 10 { // empty answers are a sign of life
			time.Sleep(g.c.cfg.DeafAfter / 2)
			p.heard.Store(time.Now().UnixNano())
		}
		if err := g.c.Ready(); err != nil {
			t.Errorf("not ready with an idle partition: %v", err)
		}
		silent := time.Now()
		time.Sleep(g.c.cfg.DeafAfter)
		if err := g.c.Ready(); err == nil {
			t.Error("ready with a partition that hears nothing")
		}
		if since := g.c.Stats().Partitions[0].DeafSince; !since.Equal(silent) {
			t.Errorf("deaf since %v, want %v", since, silent)
		}
		stop()
		<-ended
		if err := g.c.Ready(); err == nil {
			t.Error("ready without a generation")
		}
	})
}

func TestAPartitionWaitsWhileTooMuchIsAheadOfItsOldestRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first func(error)
		g, made, _ := alone(t, func(_ context.Context, r push.Record, done func(error)) error {
			if r.Offset == 0 {
				first = done
				return nil
			}
			done(nil)
			return nil
		}, stream(500))
		g.c.cfg.Ahead = 100
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		time.Sleep(time.Minute + 10*time.Millisecond)
		if got := g.c.Stats().Partitions[0]; got.Reading != 100 || got.Watermark != 0 || got.Lag() != 500 {
			t.Errorf("read up to %d with watermark %d and lag %d; want 100, 0, 500", got.Reading, got.Watermark, got.Lag())
		}
		first(nil)
		time.Sleep(time.Minute)
		if made.String() != "[0 500]" {
			t.Errorf("commits %v, want [0 500]", made)
		}
		stop()
		<-ended
	})
}

func TestTransactionMarkersArePassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []int64
		g, made, _ := alone(t, func(_ context.Context, r push.Record, done func(error)) error {
			got = append(got, r.Offset)
			done(nil)
			return nil
		}, func(offset int64) fetcher {
			next := max(offset, 0)
			return scripted(func(ctx context.Context) (kafka.Message, error) {
				m := kafka.Message{Topic: "t", Offset: next, Value: []byte("v")}
				switch next {
				case 3:
					return blocked(ctx)
				case 1:
					m.Key, m.Value = []byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 7}
				}
				next++
				return m, nil
			})
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		time.Sleep(time.Second)
		stop()
		<-ended
		if fmt.Sprint(got) != "[0 2]" || made.String() != "[3]" {
			t.Errorf("handed out %v, committed %v; want [0 2] and [3]", got, made)
		}
	})
}

func TestAPanicSaysNothingOfTheRecord(t *testing.T) {
	t.Parallel()
	for value, want := range map[any]string{
		"13800000000":                "a value of type string",
		errors.New("openid o-12345"): "a value of type *errors.errorString",
	} {
		if got := what(value); got != want {
			t.Errorf("what(%v) = %q, want %q", value, got, want)
		}
	}
}

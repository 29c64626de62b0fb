package consume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

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

func TestAtTheEndOfRunTheDrainHasMostOfTheGraceAndGoesOnCommitting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, made, _ := alone(t, func(_ context.Context, r push.Record, done func(error)) error {
			if r.Offset == 0 {
				time.AfterFunc(3*time.Second, func() { done(nil) })
			}
			return nil
		}, stream(2))
		run, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(run, run, t.Context()) }()
		time.Sleep(time.Second)
		stop()
		began := time.Now()
		time.Sleep(5 * time.Second)
		if made.String() != "[0 1]" {
			t.Errorf("commits %v while it drains, want [0 1]", made)
		}
		<-ended
		if took := time.Since(began); took <= g.c.cfg.DrainTimeout || took >= g.c.cfg.Grace {
			t.Errorf("drained for %v with a grace of %v", took, g.c.cfg.Grace)
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

func TestAPartitionThatAnswersWithErrorsOnlyIsDeafUntilItGivesARecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		g, _, _ := alone(t, doneAtOnce, func(offset int64) fetcher {
			if mended.Load() {
				return stream(1)(offset)
			}
			return scripted(func(context.Context) (kafka.Message, error) { return kafka.Message{}, kafka.TopicAuthorizationFailed })
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		heardAlways := func() { g.partitions[0].heard.Store(time.Now().UnixNano()) }
		time.Sleep(2 * g.c.cfg.DeafAfter)
		heardAlways()
		if g.c.Stats().Partitions[0].DeafSince.IsZero() {
			t.Error("not deaf while every fetch fails")
		}
		mended.Store(true)
		time.Sleep(g.c.cfg.DeafAfter)
		heardAlways()
		if since := g.c.Stats().Partitions[0].DeafSince; !since.IsZero() {
			t.Errorf("deaf since %v after a record came", since)
		}
		stop()
		<-ended
	})
}

func TestALogShorterThanItsCommitIsReadFromTheFirstRecordAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, made, told := alone(t, doneAtOnce, func(offset int64) fetcher {
			if offset > 2 {
				return scripted(func(context.Context) (kafka.Message, error) { return kafka.Message{}, kafka.OffsetOutOfRange })
			}
			return stream(2)(offset)
		})
		g.partitions = []*partition{newPartition(g, "t", kafka.PartitionAssignment{ID: 0, Offset: 100})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		time.Sleep(g.c.cfg.DeafAfter / 2)
		if made.String() != "[]" {
			t.Errorf("commits %v before it was sure", made)
		}
		time.Sleep(3 * g.c.cfg.DeafAfter)
		if made.String() != "[2]" {
			t.Errorf("commits %v, want [2]", made)
		}
		if !slices.ContainsFunc(told.all(), func(e Event) bool { return e.Kind == KindLost }) {
			t.Errorf("nobody was told: %v", told.all())
		}
		stop()
		<-ended
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

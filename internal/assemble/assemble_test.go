package assemble

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pusher/internal/push"
	"pusher/internal/telemetry"
)

func TestClosersCloseInReverseWhateverFails(t *testing.T) {
	t.Parallel()
	var order []string
	var c closers
	broken := errors.New("broken")
	c.simple("first", func() { order = append(order, "first") })
	c.add("second", func(context.Context) error { order = append(order, "second"); return broken })
	c.simple("third", func() { order = append(order, "third") })
	err := c.close(t.Context())
	if want := []string{"third", "second", "first"}; !slices.Equal(order, want) {
		t.Errorf("closed %v, want %v", order, want)
	}
	if !errors.Is(err, broken) || err.Error() != "closing second: broken" {
		t.Errorf("got %v", err)
	}
}

func TestGraceBeginsWithTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		graced, end := afterwards(ctx, 25*time.Second)
		defer end()
		time.Sleep(time.Hour) // in the bubble's time
		if graced.Err() != nil {
			t.Fatal("the grace ended before anything had")
		}
		stop()
		began := time.Now()
		<-graced.Done()
		if took := time.Since(began); took != 25*time.Second || !errors.Is(context.Cause(graced), errGrace) {
			t.Errorf("ended after %v with %v", took, context.Cause(graced))
		}
	})
}

func TestGraceOfAnEarlyEndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		graced, end := afterwards(ctx, time.Hour)
		stop()
		synctest.Wait()
		end()
		<-graced.Done()
	})
}

// answers is a handler that gives each record one answer, at once or by done.
type answers struct{ now, later error }

func (a answers) Handle(_ context.Context, _ push.Record, done func(error)) error {
	if a.now == nil {
		done(a.later)
	}
	return a.now
}

func TestRecordsAreCountedByTheirEnd(t *testing.T) {
	t.Parallel()
	poison := &push.PoisonError{Reason: push.ReasonNotJSON}
	for name, c := range map[string]struct {
		handler answers
		outcome string
	}{
		"done":          {answers{}, telemetry.OutcomeDone},
		"poison":        {answers{now: poison}, telemetry.OutcomePoison},
		"late poison":   {answers{later: poison}, telemetry.OutcomePoison},
		"tombstone":     {answers{now: push.ErrTombstone}, telemetry.OutcomeTombstone},
		"to come again": {answers{later: errors.New("kept")}, ""},
	} {
		m := telemetry.New("test")
		told := 0
		err := counted{c.handler, m}.Handle(t.Context(), push.Record{}, func(error) { told++ })
		if (err == nil) != (told == 1) {
			t.Errorf("%s: answered %v and told %d times", name, err, told)
		}
		n, err := testutil.GatherAndCount(m.Gatherer(), "pusher_events_total")
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 0, false: 1}[c.outcome == ""]; n != want {
			t.Errorf("%s: %d outcomes counted, want %d", name, n, want)
		}
	}
}

func TestReadinessSaysStartingUntilConnected(t *testing.T) {
	t.Parallel()
	r := &readiness{}
	for _, c := range r.checks(false) {
		if err := c.Probe(t.Context()); !errors.Is(err, errStarting) {
			t.Errorf("%s: %v, want %v", c.Name, err, errStarting)
		}
	}
}

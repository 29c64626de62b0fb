package compensate

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/push"
)

// runs runs a Loop for a while, each of its passes lasting so long, and returns when they began.
func runs(t *testing.T, every, lasting, until time.Duration) []time.Duration {
	t.Helper()
	var began []time.Duration
	ctx, stop := context.WithTimeout(t.Context(), until)
	defer stop()
	start := time.Now()
	Loop(ctx, every, func(context.Context) (Summary, error) {
		began = append(began, time.Since(start))
		time.Sleep(lasting)
		return Summary{}, nil
	}, func(Summary, error) {})
	return began
}

func TestLoopRunsAtOnceAndThenEveryInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := runs(t, 30*time.Second, time.Second, 70*time.Second)
		if want := []time.Duration{0, 30 * time.Second, 60 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("passes at %v, want %v", got, want)
		}
	})
}

func TestLoopNeverOverlapsItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := runs(t, 30*time.Second, 45*time.Second, 130*time.Second)
		if want := []time.Duration{0, 45 * time.Second, 90 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("passes at %v, want %v", got, want)
		}
	})
}

func TestLoopReportsEachPassAndGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		cause := errors.New("broker away")
		var reported []error
		n := 0
		Loop(ctx, time.Second, func(context.Context) (Summary, error) {
			n++
			return Summary{Tally: push.Tally{Requeued: n}}, cause
		}, func(s Summary, err error) {
			reported = append(reported, err)
			if s.Requeued == 3 {
				stop()
			}
		})
		if len(reported) != 3 || !errors.Is(reported[2], cause) {
			t.Errorf("reported %v", reported)
		}
	})
}

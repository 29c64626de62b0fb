package consume

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/push"
)

func TestCommitAgeGrowsWhileARecordIsNotTakenCareOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var finish func(error)
		g, made, _ := alone(t, func(_ context.Context, _ push.Record, done func(error)) error {
			finish = done
			return nil
		}, stream(1))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); g.run(ctx, ctx, ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := g.partitions[0].stats(); got.Standing < 50*time.Second || got.Out != 1 {
			t.Errorf("a record is out for a minute: standing for %v, %d out", got.Standing, got.Out)
		}
		finish(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := g.partitions[0].stats(); got.Standing > time.Second || made.String() != "[0 1]" {
			t.Errorf("all is committed (%v): standing for %v", made, got.Standing)
		}
		stop()
		<-ended
	})
}

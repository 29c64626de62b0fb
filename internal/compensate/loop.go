package compensate

import (
	"context"
	"time"
)

// Loop runs passes until ctx ends: one at once, then one every interval. A pass that outlasts the interval is
// followed by the next at once, never overtaken by it. report gets each pass's outcome; Loop itself logs nothing.
func Loop(
	ctx context.Context, every time.Duration,
	run func(context.Context) (Summary, error), report func(Summary, error),
) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		report(run(ctx))
		if ctx.Err() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

package console

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pusher/internal/push"
)

// keepFigures is how long what was counted is shown: however many look at the first page, the log is counted as often
// as for one.
const keepFigures = 4 * time.Second

// figures are what the first page is made of.
type figures struct {
	waiting push.Waiting
	hours   []push.Hour
	counts  []push.Count
}

// counted keeps the figures of a moment, by the first hour that they are of.
type counted struct {
	mu   sync.Mutex // held while they are counted: who comes meanwhile waits for these
	at   time.Time  // guarded by mu, as is the rest
	kept map[time.Time]outcome
}

// outcome is what counting came to.
type outcome struct {
	figures

	err error
}

// of gives the figures since an hour, at most a few seconds old. An error is kept as long, so that a push log that
// hangs does not make each reader wait for all before; but not that a reader left.
func (c *counted) of(ctx context.Context, v *visit, since time.Time) (figures, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := v.now.Sub(c.at); c.kept == nil || age < 0 || age >= keepFigures {
		c.at, c.kept = v.now, map[time.Time]outcome{}
	}
	if a, ok := c.kept[since]; ok {
		return a.figures, a.err
	}
	f, err := v.count(ctx, since)
	if ctx.Err() == nil {
		c.kept[since] = outcome{f, err}
	}
	return f, err
}

// count asks for all figures at once.
func (v *visit) count(ctx context.Context, since time.Time) (f figures, err error) {
	asked, ctx := errgroup.WithContext(ctx)
	asked.Go(func() (err error) { f.waiting, err = v.from.Figures.Waiting(ctx); return err })
	asked.Go(func() (err error) { f.hours, err = v.from.Figures.Hourly(ctx, since, time.Time{}); return err })
	asked.Go(func() (err error) { f.counts, err = v.from.Figures.Stats(ctx, since, time.Time{}); return err })
	return f, asked.Wait()
}

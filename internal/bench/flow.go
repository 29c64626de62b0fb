package bench

import (
	"context"
	"fmt"
	"time"
)

// The part of a run that counts: what lies before is starting up, what lies behind is running dry.
const (
	countFrom = 0.05
	countTo   = 0.95
)

// flow is what a run of n deliveries came to, over the part of it that counts.
type flow struct {
	rate float64 // deliveries a second
	cost cost    // of one delivery
	peak float64 // most resident bytes
}

// flow lets processes work through the room's topic of n events and measures them.
func (b *bench) flow(ctx context.Context, j job, processes, n int, most time.Duration) (f flow, err error) {
	var children []*child
	defer func() {
		for _, c := range children {
			c.end()
		}
	}()
	for range processes {
		c, err := b.start(j)
		if err != nil {
			return f, err
		}
		children = append(children, c)
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	first, err := f.until(ctx, children, countFrom*float64(n))
	if err != nil {
		return f, err
	}
	before, err := b.usage(ctx, j.room)
	if err != nil {
		return f, err
	}
	last, err := f.until(ctx, children, countTo*float64(n))
	if ctx.Err() != nil && last.done > first.done { // measured as far as it came
		ctx, err = context.WithoutCancel(ctx), nil
	}
	if err != nil {
		return f, err
	}
	after, err := b.usage(ctx, j.room)
	if err != nil {
		return f, err
	}
	f.rate = (last.done - first.done) / last.at.Sub(first.at).Seconds()
	f.cost = costOf(first, last, before, after)
	return f, nil
}

// until samples the children until they have done so much, or ctx ends; it answers the last sample.
func (f *flow) until(ctx context.Context, children []*child, done float64) (sample, error) {
	var last sample
	for {
		now, err := total(ctx, children)
		if err != nil {
			return last, err
		}
		last = now
		f.peak = max(f.peak, now.resident)
		if now.done >= done {
			return now, nil
		}
		if !wait(ctx, sampleEvery) {
			return last, fmt.Errorf("only %.0f of %.0f deliveries: %w", now.done, done, context.Cause(ctx))
		}
	}
}

// total is what all processes show now.
func total(ctx context.Context, children []*child) (sum sample, err error) {
	sum.at = time.Now()
	for _, c := range children {
		s, err := c.sample(ctx)
		if err != nil {
			return sum, err
		}
		sum.add(s)
	}
	return sum, nil
}

// wait waits for d and reports whether ctx still lives.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/push"
)

const (
	scalingEvents = 60_000
	scalingSlots  = 64 // in_flight of each instance, where the provider is the limit

	backlogEvents  = 1_000_000
	backlogLatency = time.Second
	backlogWatch   = 60 * time.Second
	backlogWarm    = 15 * time.Second // until queues and heap have their size
	mebibyte       = 1 << 20
	residentMost   = 256 // MiB
	residentGrowth = 1.1
)

// scaling measures one, two and four instances: bound by the provider, whose slots add up, and by the machine, which
// they share.
func scaling(ctx context.Context, b *bench) error {
	const stage, topic = "scaling", "scaling"
	if err := b.produce(ctx, topic, push.SMS, scalingEvents); err != nil {
		return err
	}
	for _, of := range []struct {
		what string
		job  job
		n    int
	}{
		{"50 ms provider, in_flight 64 each", job{role: rolePusher, action: push.SMS, inFlight: scalingSlots, latency: latencySlow}, scalingEvents / 3},
		{"immediate provider", job{role: rolePusher, action: push.SMS}, scalingEvents},
	} {
		for _, instances := range []int{1, 2, 4} {
			f, err := b.rate(ctx, of.job, topic, instances, of.n)
			if err != nil {
				return err
			}
			b.notef(stage, fmt.Sprintf("%s, %d instances", of.what, instances), "%.0f/s", f.rate)
		}
	}
	return nil
}

// backlog watches the memory of a pusher that has far more to do than its provider takes.
func backlog(ctx context.Context, b *bench) error {
	const stage, topic = "backlog", "backlog"
	if err := b.produce(ctx, topic, push.SMS, backlogEvents); err != nil {
		return err
	}
	r, err := b.room(ctx, topic)
	if err != nil {
		return err
	}
	c, err := b.start(job{role: rolePusher, room: r, action: push.SMS, latency: backlogLatency})
	if err != nil {
		return err
	}
	defer c.end()
	var warm, most, later float64 // MiB: up to the end of warming up, ever, and in the last third
	var s sample
	for began := time.Now(); time.Since(began) < backlogWatch; {
		if !wait(ctx, sampleEvery) {
			return context.Cause(ctx)
		}
		if s, err = c.sample(ctx); err != nil {
			return err
		}
		now := s.resident / mebibyte
		most = max(most, now)
		switch since := time.Since(began); {
		case since < backlogWarm:
			warm = max(warm, now)
		case since > backlogWatch*2/3:
			later = max(later, now)
		}
	}
	b.notef(stage, "deliveries within 60 s, provider 1 s, 1 million events waiting", "%.0f", s.done)
	busy, err := b.givenBack(ctx, r)
	if err != nil {
		return err
	}
	b.notef(stage, "of them given back, since the channel had no room", "%d", busy)
	b.held(stage, "resident memory, most in 60 s", fmt.Sprintf("%.0f MiB", most), "≤ 256 MiB", most <= residentMost)
	b.held(stage, "resident memory, last 20 s ÷ first 15 s", fmt.Sprintf("%.2f", later/warm), "≤ 1.1", later/warm <= residentGrowth)
	return nil
}

// givenBack counts the deliveries of a room that found no place in time, and wait for the compensator.
func (b *bench) givenBack(ctx context.Context, r room) (n int, err error) {
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return 0, fmt.Errorf("reading the push log: %w", err)
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, `SELECT count(*) FROM push_log WHERE status = 'failed'`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("reading the push log: %w", err)
	}
	return n, nil
}

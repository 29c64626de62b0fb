package bench

import (
	"context"
	"fmt"
	"time"

	"pusher/internal/push"
)

// The figures that chart and later stages refer to.
const (
	keyTutorial       = "tutorial"
	keyFramelessSMS   = "frameless sms"
	keyFramelessInbox = "frameless inbox"
	keyPusherSMS      = "pusher sms"
	keyPusherInbox    = "pusher inbox"
	keyFramelessSlow  = "frameless slow"
	keyPusherSlow     = "pusher slow"
	keyReplay         = "replay"
)

// The sizes of the stages: long enough for tens of batches and some commits to Kafka, short enough for ten minutes.
const (
	immediateEvents = 120_000
	slowEvents      = 60_000
	replayEvents    = 200_000
	runMost         = 40 * time.Second // then a run is measured as far as it came
	tutorialFor     = 8 * time.Second
)

// benthos is the fastest of the frameworks that were measured on two processors with a dedupe and one write.
const benthos = 25_000

// immediate measures a provider that takes no time: what the pipeline itself costs.
func immediate(ctx context.Context, b *bench) error {
	const stage = "immediate"
	for _, a := range []push.Action{push.SMS, push.Notify} {
		if err := b.produce(ctx, "immediate-"+string(a), a, immediateEvents); err != nil {
			return err
		}
	}
	if err := b.ceilings(ctx, stage); err != nil {
		return err
	}
	tutorial, err := b.tutorial(ctx, stage, 0)
	if err != nil {
		return err
	}
	b.kept[keyTutorial] = tutorial
	for _, of := range []struct {
		action         push.Action
		name           string
		frameless, own string
	}{{push.SMS, "SMS", keyFramelessSMS, keyPusherSMS}, {push.Notify, "in-app", keyFramelessInbox, keyPusherInbox}} {
		topic := "immediate-" + string(of.action)
		limit, err := b.rate(ctx, job{role: roleFrameless, action: of.action}, topic, 1, immediateEvents)
		if err != nil {
			return err
		}
		own, err := b.rate(ctx, job{role: rolePusher, action: of.action}, topic, 1, immediateEvents)
		if err != nil {
			return err
		}
		b.kept[of.frameless], b.kept[of.own] = limit.rate, own.rate
		b.notef(stage, "frameless loop, "+of.name, "%.0f/s", limit.rate)
		b.notef(stage, "pusher, "+of.name, "%.0f/s", own.rate)
		b.atLeast(stage, "pusher ÷ frameless loop, "+of.name, own.rate/limit.rate, .8)
		b.atLeast(stage, "pusher ÷ tutorial worker, "+of.name, own.rate/tutorial, 40)
		b.held(stage, "pusher against the fastest framework (two writes less), "+of.name, fmt.Sprintf("%.0f/s", own.rate),
			fmt.Sprintf("> %d/s, measured on another day", benthos), own.rate > benthos)
		b.costs(stage, of.name, own.cost, limit.cost)
	}
	return nil
}

// ceilings measures each service alone.
func (b *bench) ceilings(ctx context.Context, stage string) error {
	read, err := b.readCeiling(ctx, "immediate-sms", immediateEvents)
	if err != nil {
		return err
	}
	b.notef(stage, "ceiling: kafka-go reads", "%.0f/s", read)
	r, err := b.room(ctx, "")
	if err != nil {
		return err
	}
	claims, err := b.claimCeiling(ctx, r)
	if err != nil {
		return err
	}
	b.notef(stage, "ceiling: claims of known keys, one connection, 300 a pipeline", "%.0f/s", claims)
	intents, results, err := b.rowCeiling(ctx, r)
	if err != nil {
		return err
	}
	b.notef(stage, "ceiling: intents, one connection, 300 a batch", "%.0f/s", intents)
	b.notef(stage, "ceiling: results, one connection, 300 a batch", "%.0f/s", results)
	return b.leave(ctx, r)
}

// tutorial measures the tutorial worker for a few seconds.
func (b *bench) tutorial(ctx context.Context, stage string, latency time.Duration) (float64, error) {
	r, err := b.room(ctx, "immediate-sms")
	if err != nil {
		return 0, err
	}
	c, err := b.start(job{role: roleTutorial, room: r, action: push.SMS, latency: latency})
	if err != nil {
		return 0, err
	}
	defer c.end()
	var first, last sample
	for began := time.Now(); time.Since(began) < tutorialFor+stopMost; {
		if !wait(ctx, sampleEvery) {
			return 0, context.Cause(ctx)
		}
		if last, err = c.sample(ctx); err != nil {
			return 0, err
		}
		if first.done == 0 {
			first = last
		} else if last.at.Sub(first.at) > tutorialFor {
			break
		}
	}
	rate := (last.done - first.done) / last.at.Sub(first.at).Seconds()
	b.notef(stage, fmt.Sprintf("tutorial worker, provider %v", latency), "%.0f/s", rate)
	return rate, nil
}

// rate measures processes on a topic of n events in a fresh room.
func (b *bench) rate(ctx context.Context, j job, topic string, processes, n int) (flow, error) {
	r, err := b.room(ctx, topic)
	if err != nil {
		return flow{}, err
	}
	j.room = r
	f, err := b.flow(ctx, j, processes, n, runMost)
	if err != nil {
		return f, fmt.Errorf("%s of %s: %w", j.role, j.action, err)
	}
	return f, b.leave(ctx, r)
}

// atLeast is a ratio beside its target.
func (b *bench) atLeast(stage, what string, ratio, target float64) {
	b.held(stage, what, fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≥ %g", target), ratio >= target)
}

// costs are what one delivery takes, the frameless loop's in brackets.
func (b *bench) costs(stage, name string, own, limit cost) {
	pair := func(what, unit string, mine, its float64) {
		b.notef(stage, "cost of one delivery, "+name+": "+what, "%.3g (%.3g) %s", mine, its, unit)
	}
	pair("CPU of the pusher", "µs", own.pusher, limit.pusher)
	pair("CPU of PostgreSQL", "µs", own.postgres, limit.postgres)
	pair("CPU of Redis", "µs", own.redis, limit.redis)
	pair("CPU of Kafka", "µs", own.kafka, limit.kafka)
	pair("round trips to PostgreSQL", "", own.commits, limit.commits)
	pair("round trips to Redis", "", own.reads, limit.reads)
	pair("write-ahead log", "bytes", own.log, limit.log)
	pair("to and from Redis", "bytes", own.wire, limit.wire)
	pair("allocated", "bytes", own.bytes, limit.bytes)
	pair("allocations", "", own.mallocs, limit.mallocs)
}

// latencySlow is the slow provider's.
const latencySlow = 50 * time.Millisecond

// slow measures a provider that takes 50 ms.
func slow(ctx context.Context, b *bench) error {
	const stage, topic = "50 ms", "slow"
	if err := b.produce(ctx, topic, push.SMS, slowEvents); err != nil {
		return err
	}
	for _, inFlight := range []int{256, 1024} {
		own, err := b.rate(ctx, job{role: rolePusher, action: push.SMS, inFlight: inFlight, latency: latencySlow}, topic, 1, slowEvents)
		if err != nil {
			return err
		}
		b.notef(stage, fmt.Sprintf("pusher, in_flight %d", inFlight), "%.0f/s", own.rate)
		if inFlight == 256 {
			b.atLeast(stage, "pusher ÷ (256 ÷ 50 ms)", own.rate/(256/latencySlow.Seconds()), .9)
			continue
		}
		limit, err := b.rate(ctx, job{role: roleFrameless, action: push.SMS, inFlight: inFlight, latency: latencySlow}, topic, 1, slowEvents)
		if err != nil {
			return err
		}
		b.kept[keyPusherSlow], b.kept[keyFramelessSlow] = own.rate, limit.rate
		b.notef(stage, "frameless loop, 1024 in flight", "%.0f/s", limit.rate)
		b.atLeast(stage, "pusher ÷ frameless loop, in_flight 1024", own.rate/limit.rate, .8)
	}
	return nil
}

// replay measures duplicates only: a topic that has been worked through is read again by another group.
func replay(ctx context.Context, b *bench) error {
	const stage, topic = "replay", "replay"
	if err := b.produce(ctx, topic, push.SMS, replayEvents); err != nil {
		return err
	}
	r, err := b.room(ctx, topic)
	if err != nil {
		return err
	}
	if _, err := b.flow(ctx, job{role: roleFrameless, room: r, action: push.SMS}, 1, replayEvents, 2*runMost); err != nil {
		return err
	}
	again := r
	again.group += "_again"
	own, err := b.flow(ctx, job{role: rolePusher, room: again, action: push.SMS}, 1, replayEvents, runMost)
	if err != nil {
		return err
	}
	limit, err := b.claimCeiling(ctx, r)
	if err != nil {
		return err
	}
	b.kept[keyReplay] = own.rate
	b.notef(stage, "ceiling: claims of known keys, one connection, 300 a pipeline", "%.0f/s", limit)
	b.notef(stage, "pusher, duplicates only", "%.0f/s", own.rate)
	b.atLeast(stage, "pusher ÷ that ceiling", own.rate/limit, .5)
	b.notef(stage, "CPU of one duplicate: pusher + Redis + Kafka", "%.3g + %.3g + %.3g µs", own.cost.pusher, own.cost.redis, own.cost.kafka)
	b.notef(stage, "allocated for one duplicate", "%.3g bytes in %.3g allocations", own.cost.bytes, own.cost.mallocs)
	return b.leave(ctx, r)
}

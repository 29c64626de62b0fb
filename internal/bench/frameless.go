package bench

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"pusher/internal/assemble"
	"pusher/internal/channels/notify"
	"pusher/internal/config"
	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/telemetry"
)

const (
	framelessBatch   = 300
	framelessWorkers = 4
)

// loop is the practical limit: batches of records through the same decoder, scripts and statements as the pusher's,
// and nothing else. No delivery has a life of its own here: there is no watermark, no lease that is renewed, no answer
// that gets lost, no room kept for others. All of a batch are sent at once, under one timer.
type loop struct {
	cfg     *config.Config
	rules   map[string]push.Rule
	keys    *dedup.Keys
	log     *store.Store
	inbox   *notify.Sender
	stand   *provider
	slots   *semaphore.Weighted // requests out at once
	metrics *telemetry.Metrics
}

// frameless runs the loop until ctx ends.
func frameless(ctx context.Context, c *config.Config, stand *provider, m *telemetry.Metrics) error {
	log, err := assemble.Store(ctx, c, "frameless")
	if err != nil {
		return err
	}
	defer log.Close()
	client, err := assemble.Redis(ctx, c)
	if err != nil {
		return err
	}
	defer client.Close()
	inbox, err := assemble.Notify(c)
	if err != nil {
		return err
	}
	l := &loop{
		cfg: c, rules: c.Rules(), keys: dedup.New(client, c.Dedup.Lease), log: log, inbox: inbox, stand: stand,
		slots: semaphore.NewWeighted(int64(c.Worker.InFlight)), metrics: m,
	}
	reader := kafka.NewReader(readerConfig(c))
	defer reader.Close()
	return l.run(ctx, reader)
}

// readerConfig is kafka-go's own consumer group.
func readerConfig(c *config.Config) kafka.ReaderConfig {
	return kafka.ReaderConfig{
		Brokers: c.Kafka.Brokers, GroupID: c.Kafka.Group, Topic: c.Kafka.Topic, StartOffset: kafka.FirstOffset,
		QueueCapacity: 1000, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: time.Second, CommitInterval: 500 * time.Millisecond,
	}
}

// run reads, and lets workers take what has been read, a batch each.
func (l *loop) run(ctx context.Context, reader *kafka.Reader) error {
	group, ctx := errgroup.WithContext(ctx)
	read := make(chan kafka.Message, 2*framelessBatch)
	group.Go(func() error {
		for {
			m, err := reader.FetchMessage(ctx)
			if err != nil {
				return err
			}
			select {
			case read <- m:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
	workers := framelessWorkers
	if l.stand.latency > 0 {
		workers *= 2 // half of them write while the others' requests are out
	}
	for range workers {
		group.Go(func() error {
			for {
				batch, err := gather(ctx, read)
				if err != nil {
					return err
				}
				if err := l.deliver(ctx, batch); err != nil {
					return err
				}
				if err := reader.CommitMessages(ctx, batch...); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// gather waits for a message and takes what else is there.
func gather(ctx context.Context, read <-chan kafka.Message) ([]kafka.Message, error) {
	batch := make([]kafka.Message, 0, framelessBatch)
	select {
	case m := <-read:
		batch = append(batch, m)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for len(batch) < framelessBatch {
		select {
		case m := <-read:
			batch = append(batch, m)
		default:
			return batch, nil
		}
	}
	return batch, nil
}

// delivery is one of a batch.
type delivery struct {
	*push.Delivery

	owner string
}

// deliver takes one batch from claim to settle.
func (l *loop) deliver(ctx context.Context, batch []kafka.Message) error {
	deliveries, err := l.plan(batch)
	if err != nil {
		return err
	}
	if deliveries, err = l.claim(ctx, deliveries); err != nil {
		return err
	}
	rows, err := l.intend(ctx, deliveries)
	if err != nil {
		return err
	}
	results, err := l.send(ctx, deliveries, rows)
	if err != nil {
		return err
	}
	settles := make([]push.KeySettle, len(results))
	for i, a := range l.log.Record(ctx, results) {
		if a.Err != nil {
			return a.Err
		}
		settles[i] = push.KeySettle{
			KeyHold:    push.KeyHold{Key: deliveries[i].Key(), Owner: deliveries[i].owner},
			Settlement: a.Row.Settlement(), Window: deliveries[i].Window,
		}
		l.metrics.Row(deliveries[i].Action, a.Row.Provider, a.Row.Status)
	}
	for _, a := range l.keys.Settle(ctx, settles) {
		if a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// plan decodes a batch; each event has one channel here.
func (l *loop) plan(batch []kafka.Message) ([]delivery, error) {
	deliveries := make([]delivery, 0, len(batch))
	for _, m := range batch {
		origin := push.Origin{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Time: m.Time}
		e, err := push.Decode(push.Record{Origin: origin, Key: m.Key, Value: m.Value})
		if err != nil {
			return nil, err
		}
		rule := l.rules[e.BizType]
		id, err := rule.DedupID(e, m.Time)
		if err != nil {
			return nil, err
		}
		actions := l.cfg.Pushes[e.BizType].Actions.List()
		deliveries = append(deliveries, delivery{Delivery: &push.Delivery{
			Identity: push.Identity{BizType: e.BizType, RuleVersion: "v1", DedupID: id, Action: actions[0]},
			BizID:    e.BizID, Event: e, Origin: origin, Window: rule.Window,
		}, owner: push.NewOwner()})
	}
	return deliveries, nil
}

// claim keeps the deliveries that Redis grants.
func (l *loop) claim(ctx context.Context, all []delivery) ([]delivery, error) {
	claims := make([]push.Claim, len(all))
	for i, d := range all {
		claims[i] = push.Claim{Key: d.Key(), Owner: d.owner, RecordTime: d.Origin.Time, Window: d.Window}
	}
	granted := all[:0]
	for i, g := range l.keys.Claim(ctx, claims) {
		switch {
		case g.Err != nil:
			return nil, g.Err
		case g.Verdict == push.Granted:
			granted = append(granted, all[i])
		default:
			l.metrics.Duplicate(all[i].Action, "redis")
		}
	}
	return granted, nil
}

// intend writes the intents.
func (l *loop) intend(ctx context.Context, deliveries []delivery) ([]push.Row, error) {
	intents := make([]push.Intent, len(deliveries))
	for i, d := range deliveries {
		to, provider := d.Event.Recipient.UserID, notify.Provider
		if d.Action == push.SMS {
			phone, err := push.NormalizePhone(d.Event.Recipient.Phone, l.cfg.Phone.Region)
			if err != nil {
				return nil, err
			}
			to, provider = phone, l.stand.Provider()
		}
		intents[i] = push.Intent{
			Delivery: d.Delivery, Owner: d.owner, Lease: l.cfg.Dedup.Lease, Provider: provider, Worker: "frameless",
			Recipient: push.Mask(to), RecipientHash: push.HashRecipient(to, []byte(l.cfg.Privacy.HashKey.Reveal())),
			RecipientFull: to, MaxAttempts: l.cfg.Retry.MaxAttempts,
		}
	}
	rows := make([]push.Row, len(intents))
	for i, a := range l.log.Intend(ctx, intents) {
		if a.Err != nil {
			return nil, a.Err
		}
		rows[i] = a.Row
	}
	return rows, nil
}

// send sends a batch, all of it at once.
func (l *loop) send(ctx context.Context, deliveries []delivery, rows []push.Row) ([]push.Result, error) {
	if l.stand.latency > 0 {
		if err := l.slots.Acquire(ctx, int64(len(deliveries))); err != nil {
			return nil, err
		}
		defer l.slots.Release(int64(len(deliveries)))
		timer := time.NewTimer(l.stand.latency)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	results := make([]push.Result, len(deliveries))
	for i, d := range deliveries {
		m := push.Message{BizType: d.BizType, Reference: d.Reference(rows[i].Round), Vars: d.Event.Vars(), Recipient: d.Event.Recipient.UserID}
		var a push.Acceptance
		var err error
		if d.Action == push.Notify {
			a, err = l.inbox.Send(ctx, m)
		} else {
			a, err = l.stand.accept(m)
		}
		if err != nil {
			return nil, err
		}
		results[i] = push.Result{
			ID: rows[i].ID, Owner: d.owner, Attempt: rows[i].Attempt, Class: push.Accepted,
			Provider: a.Provider, MessageID: a.MessageID, Inbox: a.Inbox,
		}
	}
	return results, nil
}

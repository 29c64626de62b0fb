package consume

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
)

// Consumer is one member of a consumer group.
type Consumer struct {
	cfg       Config
	handler   Handler
	letters   publisher
	teller    *teller
	wire      *wire // of the group and the watch; each reader has its own
	transport *kafka.Transport
	client    *kafka.Client // looks at topics, through transport
	open      opener
	counts    counts

	mu    sync.Mutex
	state state // guarded by mu
}

// New makes a consumer that hands records to handler and writes poison with letters, which stays the caller's to
// close after Run has returned. An error names the setting that cannot work.
func New(cfg Config, handler Handler, letters *Producer) (*Consumer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	w := newWire(cfg.Timeout+cfg.SessionTimeout, new(atomic.Int64))
	transport := cfg.transport(w, cfg.WatchEvery, cfg.Topics...)
	c := &Consumer{
		cfg:       cfg,
		handler:   handler,
		letters:   letters,
		teller:    newTeller(cfg.OnEvent, time.Now),
		wire:      w,
		transport: transport,
		client:    &kafka.Client{Addr: kafka.TCP(cfg.Brokers...), Transport: transport},
		state:     state{since: time.Now()},
	}
	c.open = c.openReader
	return c, nil
}

func (c *Consumer) event(e Event) { c.teller.event(e) }

// Run consumes until ctx ends, and returns within the grace after that: it stops fetching, waits for the records that
// are out, commits, and leaves the group. A consumer runs once. Errors of Kafka never end it; the only error is a
// configuration that kafka-go refuses.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.transport.CloseIdleConnections()
	defer c.wire.cut()
	defer c.cutAfterGrace(ctx)()

	have, begin := layout{}, kafka.FirstOffset
	if c.cfg.Start == StartLast {
		begin = kafka.LastOffset
	}
	for ctx.Err() == nil {
		next, err := c.membership(ctx, have, begin)
		if err != nil {
			return err
		}
		if len(have) > 0 {
			begin = kafka.FirstOffset // what appears while we run is all new
		}
		if next != nil {
			have = next
			c.setLayout(have)
		}
	}
	return nil
}

// cutAfterGrace cuts the connections when the grace after the end of ctx is over: then nothing of kafka-go waits any
// longer. The answered function calls it off.
func (c *Consumer) cutAfterGrace(ctx context.Context) (stop func()) {
	over, stop := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		timer := time.NewTimer(c.cfg.Grace)
		defer timer.Stop()
		select {
		case <-over.Done():
		case <-timer.C:
			c.wire.cut()
		}
	})
	return stop
}

// membership is a member of the group for the topics of have until the layout changes, and answers the new one; nil
// when ctx ended. With nothing to read it only waits: kafka-go joined for a topic that does not exist assigns nothing
// of the others either. begin is where partitions without a commit begin.
func (c *Consumer) membership(ctx context.Context, have layout, begin int64) (next layout, err error) {
	member, leave := context.WithCancel(ctx)
	defer leave()
	var watching sync.WaitGroup
	watching.Go(func() {
		defer leave()
		next = c.watch(member, have)
	})
	if len(have) > 0 {
		err = c.belong(ctx, member, c.groupConfig(have.names(), begin))
	} else {
		<-member.Done()
	}
	leave()
	watching.Wait()
	return next, err
}

// belong joins the group and lives through its generations until member ends. run is the life of Run.
func (c *Consumer) belong(run, member context.Context, cfg kafka.ConsumerGroupConfig) error {
	group, err := kafka.NewConsumerGroup(cfg)
	if err != nil {
		return fmt.Errorf("joining group %s: %w", c.cfg.Group, err)
	}
	defer func() { _ = group.Close() }() // leaves the group; always answers nil
	for {
		gen, err := group.Next(member)
		switch {
		case member.Err() != nil:
			return nil
		case err != nil:
			c.event(Event{Kind: KindGroup, Err: fmt.Errorf("joining group %s on %v: %w", c.cfg.Group, c.cfg.Brokers, err)})
		default:
			c.live(run, member, gen)
		}
	}
}

func (c *Consumer) groupConfig(topics []string, begin int64) kafka.ConsumerGroupConfig {
	return kafka.ConsumerGroupConfig{
		ID:                    c.cfg.Group,
		Brokers:               c.cfg.Brokers,
		Dialer:                c.cfg.dialer(c.wire),
		Topics:                topics,
		HeartbeatInterval:     c.cfg.Heartbeat,
		SessionTimeout:        c.cfg.SessionTimeout,
		RebalanceTimeout:      c.cfg.SessionTimeout,
		JoinGroupBackoff:      4 * c.cfg.Backoff,
		StartOffset:           begin,
		Timeout:               c.cfg.Timeout,
		WatchPartitionChanges: false, // it spins through generations while a topic is missing; see watch
	}
}

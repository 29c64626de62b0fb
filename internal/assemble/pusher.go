package assemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"pusher/internal/channels"
	"pusher/internal/config"
	"pusher/internal/consume"
	"pusher/internal/deliver"
	"pusher/internal/httpd"
	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/telemetry"
)

// closeMost bounds the closing of clients, once everything is at its end.
const closeMost = 2 * time.Second

// callMost bounds one batch at Redis or PostgreSQL: longer than either client's own patience, so that theirs speaks.
const callMost = 10 * time.Second

// Pusher is the long-running consumer.
type Pusher struct {
	cfg     *config.Config
	version string
	log     zerolog.Logger
	metrics *telemetry.Metrics
	http    *httpd.Server
	ready   *readiness
	closers closers
	tracer  deliver.Tracer // nil: nobody looks

	instance string // names this process where it shares a rate
	lanes    []*channels.Lane
	instead  map[push.Action]channels.Sender // of providers, see Replace
}

// NewPusher takes http.addr and builds what needs no service; version is shown in the metrics. An error is a
// configuration that cannot work, or an address in use.
func NewPusher(ctx context.Context, c *config.Config, log zerolog.Logger, version string) (*Pusher, error) {
	if err := errors.Join(c.NeedPostgres(), c.NeedPushes()); err != nil {
		return nil, err
	}
	p := &Pusher{cfg: c, version: version, log: log, metrics: telemetry.New(version), ready: &readiness{}, instance: push.NewOwner()}
	checks := p.ready.checks(spareRedis(c))
	p.watchReady(checks)
	p.http = httpd.New(p.metrics.Handler(), checks)
	if err := errors.Join(p.receipts(), p.console()); err != nil {
		return nil, err
	}
	if err := p.http.Listen(ctx, c.HTTP.Addr); err != nil {
		return nil, err
	}
	return p, nil
}

// Replace lets s send on a channel instead of its configured provider, in a lane like its. It is called before Run, by
// who measures what all but the provider takes.
func (p *Pusher) Replace(a push.Action, s channels.Sender) {
	if p.instead == nil {
		p.instead = map[push.Action]channels.Sender{}
	}
	p.instead[a] = s
}

// Addr is where /healthz, /readyz, /metrics and /console/ are.
func (p *Pusher) Addr() string { return p.http.Addr() }

// Run is the pusher's life: it waits for its services, consumes until ctx ends, and returns within worker.grace after
// that. It joins the group only when Redis and PostgreSQL have answered, so nothing is read, sent or committed before.
func (p *Pusher) Run(ctx context.Context) error {
	pages, stopPages := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return p.http.Serve(pages) })
	err := p.work(ctx)
	stopPages()
	err = errors.Join(err, group.Wait())
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeMost)
	defer cancel()
	return errors.Join(err, p.closers.close(closing))
}

// work connects, consumes, and brings what is under way to its end.
func (p *Pusher) work(ctx context.Context) error {
	client, log, err := p.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before there was anything to stop
		}
		return err
	}
	deliverer, err := p.deliverer(client, log)
	if err != nil {
		return err
	}
	consumer, err := p.consumer(deliverer)
	if err != nil {
		return errors.Join(err, deliverer.Close(ctx))
	}
	p.watch(deliverer, consumer, log)
	defer p.sampleKeys(ctx, client)()
	p.ready.started(consumer, client, log)
	defer context.AfterFunc(ctx, func() {
		deliverer.Quiesce()
		p.log.Info().Stringer(telemetry.FieldWithin, p.cfg.Worker.Grace).Msg("stopping: what is out is finished, the rest given back")
	})()
	graced, end := afterwards(ctx, p.cfg.Worker.Grace)
	defer end()
	p.log.Info().Str(telemetry.FieldAddr, p.Addr()).Str(telemetry.FieldVersion, p.version).Msg("consuming")
	err = consumer.Run(ctx)
	err = errors.Join(err, deliverer.Close(graced))
	p.log.Info().Msg("stopped")
	return err
}

// errGrace is the cause of what ends because the grace is over.
var errGrace = errors.New("worker.grace is over: what is still out is left to the compensator")

// afterwards lives on for the grace after the end of ctx: one deadline for everything that has to come to its end.
func afterwards(ctx context.Context, grace time.Duration) (graced context.Context, end func()) {
	graced, over := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, func() { over(errGrace) })
		context.AfterFunc(graced, func() { timer.Stop() })
	})
	return graced, func() { stop(); over(nil) }
}

// connect waits for the services, however long they take.
func (p *Pusher) connect(ctx context.Context) (redis.UniversalClient, *store.Store, error) {
	if err := p.trace(ctx); err != nil {
		return nil, nil, err
	}
	client, err := p.redis(ctx)
	if err != nil {
		return nil, nil, err
	}
	p.mayForget(ctx, client)
	p.closers.add("redis", func(context.Context) error { return client.Close() })
	log, err := patient(ctx, p.log, func(ctx context.Context) (*store.Store, error) { return migrated(ctx, p.cfg, "pusher") })
	if err != nil {
		return nil, nil, err
	}
	p.closers.simple("postgres", log.Close)
	p.mayLose(ctx, log)
	return client, log, nil
}

func (p *Pusher) consumer(d *deliver.Deliverer) (*consume.Consumer, error) {
	cluster, err := Cluster(p.cfg)
	if err != nil {
		return nil, err
	}
	letters, err := consume.NewProducer(cluster)
	if err != nil {
		return nil, fmt.Errorf("reading kafka: %w", err)
	}
	p.closers.add("dead letters", letters.Close)
	k := p.cfg.Kafka
	return consume.New(consume.Config{
		Cluster: cluster, Group: k.Group, Topics: []string{k.Topic, k.RetryTopic}, DeadLetterTopic: k.DeadLetterTopic,
		Start: k.Start, SessionTimeout: k.SessionTimeout, Grace: p.cfg.Worker.Grace, OnEvent: p.heard,
	}, counted{d, p.metrics}, letters)
}

// heard logs and counts what happens to the consumer.
func (p *Pusher) heard(e consume.Event) {
	p.metrics.Consumer(string(e.Kind), 1+e.Suppressed)
	level := zerolog.InfoLevel
	if e.Err != nil {
		level = zerolog.WarnLevel
	}
	line := p.log.WithLevel(level).Err(e.Err).Str(telemetry.FieldKind, string(e.Kind))
	if e.Topic != "" {
		line.Str(telemetry.FieldTopic, e.Topic).Int(telemetry.FieldPartition, e.Partition).Int64(telemetry.FieldOffset, e.Offset)
	}
	if e.Suppressed > 0 {
		line.Int(telemetry.FieldSuppress, e.Suppressed)
	}
	line.Msg(consumerSays(e))
}

func consumerSays(e consume.Event) string {
	if e.Detail == "" {
		return "consumer: " + string(e.Kind)
	}
	return "consumer: " + string(e.Kind) + ": " + e.Detail
}

// workerName names this process for operators.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

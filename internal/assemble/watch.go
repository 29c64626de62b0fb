package assemble

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/consume"
	"pusher/internal/dedup"
	"pusher/internal/deliver"
	"pusher/internal/httpd"
	"pusher/internal/store"
	"pusher/internal/telemetry"
)

// keysEvery is how often the dedup keys are sampled; keysMost is how long that may take.
const (
	keysEvery = time.Minute
	keysMost  = 5 * time.Second
)

// watch shows what the parts hold.
func (p *Pusher) watch(d *deliver.Deliverer, c *consume.Consumer, s *store.Store) {
	p.metrics.WatchHeld(telemetry.StageAdmitted, func() int { admitted, _, _ := d.Held(); return admitted })
	p.metrics.WatchHeld(telemetry.StageSending, func() int { _, sending, _ := d.Held(); return sending })
	p.metrics.WatchBytes(func() int64 { _, _, bytes := d.Held(); return bytes })
	p.metrics.WatchPartitions(func() []telemetry.Partition {
		stats := c.Stats().Partitions
		parts := make([]telemetry.Partition, len(stats))
		for i, s := range stats {
			parts[i] = telemetry.Partition{
				Topic: s.Topic, Partition: s.Partition, Watermark: max(s.Watermark, 0), End: s.End, Out: s.Out, Standing: s.Standing,
			}
		}
		return parts
	})
	p.metrics.WatchRedis(d.WithoutRedis)
	p.watchLanes()
	p.metrics.WatchUnknown(s.UnknownAge)
	p.metrics.WatchParked(s.ParkedReceipts)
	p.metrics.WatchUnsent(func(ctx context.Context) ([]telemetry.Unsent, error) {
		list, err := s.UnsentAge(ctx)
		unsent := make([]telemetry.Unsent, len(list))
		for i, u := range list {
			unsent[i] = telemetry.Unsent(u)
		}
		return unsent, err
	})
}

// watchReady shows what /readyz says.
func (p *Pusher) watchReady(checks []httpd.Check) {
	p.metrics.WatchReady(func(ctx context.Context) map[string]bool { return httpd.Probe(ctx, checks) })
}

// sampleKeys looks at the dedup keys at once and then on a cadence of its own, until stop is called: a scrape must not
// cost Redis anything.
func (p *Pusher) sampleKeys(ctx context.Context, client redis.UniversalClient) (stop func()) {
	ctx, end := context.WithCancel(ctx)
	keys := p.metrics.Keys()
	var sampling sync.WaitGroup // stop waits for it
	sampling.Go(func() {
		tick := time.NewTicker(keysEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			look(ctx, client, keys)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return func() { end(); sampling.Wait() }
}

// look takes one sample.
func look(ctx context.Context, client redis.UniversalClient, keys *telemetry.Keys) {
	ctx, cancel := context.WithTimeout(ctx, keysMost)
	defer cancel()
	s, err := dedup.Look(ctx, client)
	if err != nil {
		keys.Failed()
		return
	}
	keys.Looked(s.Keys, s.Bytes, s.Evicted)
}

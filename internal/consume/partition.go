package consume

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

// parkedPerPartition bounds the records that wait for another try or for their dead letter; when all places are
// taken, the partition waits.
const parkedPerPartition = 16

// partition reads one partition during one generation and hands its records out. What is done late, after the
// generation, changes only a watermark that nobody commits any more.
type partition struct {
	c      *Consumer
	parked *tasks
	topic  string
	id     int
	tail   bool // begin at the end, which is not known yet
	mark   *watermark
	places chan struct{} // one element a parked record
	health health

	committed atomic.Int64 // the offset last committed; unknown: none
	end       atomic.Int64 // one past the last record in Kafka, as last heard
	heard     atomic.Int64 // Unix nanoseconds of the last bytes from a broker; 0: never
	moved     atomic.Int64 // Unix nanoseconds when the committed offset last moved, or had nothing left to reach
}

func newPartition(g *generation, topic string, a kafka.PartitionAssignment) *partition {
	start := max(a.Offset, unknown)
	p := &partition{
		c:      g.c,
		parked: &g.parked,
		topic:  topic,
		id:     a.ID,
		tail:   a.Offset == kafka.LastOffset,
		mark:   newWatermark(start),
		places: make(chan struct{}, parkedPerPartition),
		health: health{patience: g.c.cfg.DeafAfter},
	}
	p.committed.Store(start)
	p.end.Store(start)
	p.moved.Store(time.Now().UnixNano())
	return p
}

// run reads until handing ends. A reader that fails, or claims that the stream is over, is made anew after a wait that
// grows: neither a hot loop nor silence. work is the life of what is parked.
func (p *partition) run(handing, work context.Context) {
	wait := p.backoff()
	for handing.Err() == nil {
		got, err := p.read(handing, work)
		if handing.Err() != nil {
			return
		}
		p.failed(err)
		if got > 0 {
			wait = p.backoff()
		}
		if errors.Is(err, kafka.OffsetOutOfRange) {
			p.restart()
		}
		pause(handing, wait.NextBackOff())
	}
}

// read hands out what one reader fetches until it fails, and answers how many records it gave.
func (p *partition) read(handing, work context.Context) (got int, err error) {
	start, err := p.start(handing)
	if err != nil {
		return 0, err
	}
	f := p.c.open(p.topic, p.id, start, &p.heard, p.failed)
	defer func() { _ = f.Close() }()
	for ; ; got++ {
		if err := p.room(handing); err != nil {
			return got, err
		}
		p.health.ask(time.Now())
		m, err := f.FetchMessage(handing)
		if err != nil {
			return got, fmt.Errorf("fetching %s/%d: %w", p.topic, p.id, err)
		}
		p.health.got()
		p.end.Store(max(p.end.Load(), m.HighWaterMark))
		if p.mark.take(m.Offset) {
			p.hand(handing, work, m)
		}
	}
}

// start is the offset to read from. A partition that begins at its end does so once and commits where that was: asked
// again after a restart, the end would be further on, and what came between lost.
func (p *partition) start(ctx context.Context) (int64, error) {
	if p.tail {
		ends, err := p.c.ends(ctx, map[string][]kafka.OffsetRequest{p.topic: {kafka.LastOffsetOf(p.id)}})
		if err != nil {
			return 0, err
		}
		for _, o := range ends[p.topic] {
			if o.Error != nil {
				return 0, fmt.Errorf("asking for the end of %s/%d: %w", p.topic, p.id, o.Error)
			}
			p.mark.begin(o.LastOffset)
			p.tail = false
		}
	}
	if at := p.mark.reading(); at != unknown {
		return at, nil
	}
	return kafka.FirstOffset, nil
}

// room waits while too much is parked or remembered; it fails when ctx ends.
func (p *partition) room(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		<-p.places
	case <-ctx.Done():
		return ctx.Err()
	}
	for p.mark.span() >= p.c.cfg.Ahead {
		if !pause(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// park runs fn for a record that has to wait, once there is a place.
func (p *partition) park(work context.Context, fn func()) {
	p.parked.start(func() {
		select {
		case p.places <- struct{}{}:
			defer func() { <-p.places }()
			fn()
		case <-work.Done():
		}
	})
}

// failed notes and tells that fetching fails.
func (p *partition) failed(err error) {
	p.health.fail(time.Now())
	p.tell(KindFetch, p.mark.reading(), err)
}

// restart begins at the first record again when the log ends below where reading goes on, and has done so for a while:
// Kafka lost its end (an unclean election, a restored broker). It is another log then; to wait until it has grown past
// the old end would lose all that comes in between. What is read again ends as duplicates.
func (p *partition) restart() {
	if p.deafSince().IsZero() || p.mark.undone() > 0 {
		return
	}
	p.tell(KindLost, p.mark.reading(), errors.New("the partition ends before the committed offset; it is read from its first record again"))
	p.mark.restart()
	p.committed.Store(unknown)
}

// deafSince is since when nothing is fetched; zero while all is well.
func (p *partition) deafSince() time.Time {
	return p.health.deafSince(time.Now(), time.Unix(0, p.heard.Load()))
}

// backoff doubles from the configured wait to 32 times that, spread by a tenth.
func (p *partition) backoff() *backoff.ExponentialBackOff {
	first := p.c.cfg.Backoff
	return &backoff.ExponentialBackOff{InitialInterval: first, MaxInterval: 32 * first, Multiplier: 2, RandomizationFactor: .1}
}

func (p *partition) tell(kind Kind, offset int64, err error) {
	p.c.event(Event{Kind: kind, Topic: p.topic, Partition: p.id, Offset: offset, Err: err})
}

// pause waits for d and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// record is m in the words of the house.
func record(m kafka.Message) push.Record {
	r := push.Record{
		Origin:  push.Origin{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Time: m.Time},
		Key:     m.Key,
		Value:   m.Value,
		Headers: make([]push.Header, len(m.Headers)),
	}
	for i, h := range m.Headers {
		r.Headers[i] = push.Header{Key: h.Key, Value: h.Value}
	}
	return r
}

// isMarker reports whether m is the control record that ends a transaction, which kafka-go hands out like any other:
// a key of version 0 and type abort or commit, a value of version 0 and the coordinator's epoch.
func isMarker(m kafka.Message) bool {
	return len(m.Key) == 4 && m.Key[0] == 0 && m.Key[1] == 0 && m.Key[2] == 0 && m.Key[3] <= 1 &&
		len(m.Value) == 6 && m.Value[0] == 0 && m.Value[1] == 0
}

package consume

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// state is what a consumer is at present.
type state struct {
	layout     layout
	generation *generation // nil while not joined
	since      time.Time   // of the last change of generation
}

// counts are totals since the start.
type counts struct {
	records, tombstones, handedAgain atomic.Int64
	generations, commitsFailed       atomic.Int64
	lettersFailed                    atomic.Int64

	mu      sync.Mutex
	reasons map[string]int64 // guarded by mu; dead letters written, by reason
}

func (c *counts) poison(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reasons == nil {
		c.reasons = make(map[string]int64)
	}
	c.reasons[reason]++
}

// Stats is a consumer at one moment, for metrics.
type Stats struct {
	Joined     bool           // member of the group, if only as a spare one
	Since      time.Time      // when Joined last changed
	Generation int32          // 0 while not joined
	Topics     map[string]int // partitions of each configured topic; 0: it does not exist (yet)
	Partitions []PartitionStats

	Records       int64            // fetched
	Tombstones    int64            // skipped
	HandedAgain   int64            // handed out again after an error of the handler
	Poison        map[string]int64 // dead letters written, by reason
	LettersFailed int64            // tries to write a dead letter that failed
	CommitsFailed int64
	Generations   int64 // generations joined
}

// PartitionStats is one partition that is ours.
type PartitionStats struct {
	Topic     string
	Partition int
	Committed int64         // -1: no commit yet
	Watermark int64         // everything below is taken care of; -1: nothing read yet
	Reading   int64         // the next offset to be fetched; -1: nothing read yet
	End       int64         // one past the last record, as last heard; -1: not heard yet
	Out       int           // records handed out and not taken care of
	Standing  time.Duration // for how long the committed offset has not moved while records beyond it were read
	DeafSince time.Time     // not zero: since then nothing is fetched, for DeafAfter at least
}

// Lag is how many offsets are not taken care of; 0 while nothing is known.
func (p PartitionStats) Lag() int64 { return max(p.End-max(p.Watermark, 0), 0) }

// Stats looks at the consumer.
func (c *Consumer) Stats() Stats {
	c.mu.Lock()
	now := c.state
	c.mu.Unlock()

	s := Stats{
		Joined:        now.generation != nil,
		Since:         now.since,
		Topics:        make(map[string]int),
		Records:       c.counts.records.Load(),
		Tombstones:    c.counts.tombstones.Load(),
		HandedAgain:   c.counts.handedAgain.Load(),
		LettersFailed: c.counts.lettersFailed.Load(),
		CommitsFailed: c.counts.commitsFailed.Load(),
		Generations:   c.counts.generations.Load(),
	}
	for _, topic := range c.cfg.Topics {
		s.Topics[topic] = now.layout[topic]
	}
	if now.generation != nil {
		s.Generation = now.generation.id
		for _, p := range now.generation.partitions {
			s.Partitions = append(s.Partitions, p.stats())
		}
	}
	c.counts.mu.Lock()
	s.Poison = maps.Clone(c.counts.reasons)
	c.counts.mu.Unlock()
	return s
}

func (p *partition) stats() PartitionStats {
	return PartitionStats{
		Topic:     p.topic,
		Partition: p.id,
		Committed: p.committed.Load(),
		Watermark: p.mark.position(),
		Reading:   p.mark.reading(),
		End:       p.end.Load(),
		Out:       p.mark.undone(),
		Standing:  time.Since(time.Unix(0, p.moved.Load())),
		DeafSince: p.deafSince(),
	}
}

// Ready answers nil when events can be consumed: every topic has partitions, the group is joined (a spare member
// without a partition is ready too), and what is ours is being fetched. Otherwise it says what is missing.
func (c *Consumer) Ready() error {
	s := c.Stats()
	var missing []error
	for _, topic := range slices.Sorted(maps.Keys(s.Topics)) {
		if s.Topics[topic] == 0 {
			missing = append(missing, fmt.Errorf("topic %s has no partition", topic))
		}
	}
	if !s.Joined {
		missing = append(missing, fmt.Errorf("not a member of group %s since %s", c.cfg.Group, s.Since.UTC().Format(time.RFC3339)))
	}
	for _, p := range s.Partitions {
		if !p.DeafSince.IsZero() {
			missing = append(missing, fmt.Errorf("not fetching %s/%d since %s", p.Topic, p.Partition, p.DeafSince.UTC().Format(time.RFC3339)))
			break
		}
	}
	return errors.Join(missing...)
}

func (c *Consumer) setLayout(l layout) {
	c.mu.Lock()
	c.state.layout = l
	c.mu.Unlock()
	c.event(Event{Kind: KindTopics, Detail: fmt.Sprintf("partitions: %v", l), Err: c.missing(l)})
}

// begin and end say whether a generation is alive.
func (c *Consumer) begin(g *generation) {
	c.counts.generations.Add(1)
	c.mu.Lock()
	c.state.generation, c.state.since = g, time.Now()
	c.mu.Unlock()
	c.event(Event{Kind: KindJoined, Detail: fmt.Sprintf("generation %d, %d partitions", g.id, len(g.partitions))})
}

func (c *Consumer) end(g *generation) {
	c.mu.Lock()
	c.state.generation, c.state.since = nil, time.Now()
	c.mu.Unlock()
	c.event(Event{Kind: KindLeft, Detail: fmt.Sprintf("generation %d", g.id)})
}

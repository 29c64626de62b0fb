package consume

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// shrinkLooks is how many looks in a row must miss a topic or partition before it counts as gone: a broker that starts
// knows of nothing for a moment.
const shrinkLooks = 3

// layout is the number of partitions of each topic that has any.
type layout map[string]int

// names are the topics that exist, sorted.
func (l layout) names() []string { return slices.Sorted(maps.Keys(l)) }

// covers reports whether l has all that other has.
func (l layout) covers(other layout) bool {
	for topic, n := range other {
		if l[topic] < n {
			return false
		}
	}
	return true
}

// look asks Kafka for the partitions of the configured topics. It creates none.
func (c *Consumer) look(ctx context.Context) (layout, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	meta, err := c.client.Metadata(ctx, &kafka.MetadataRequest{Topics: c.cfg.Topics})
	if err != nil {
		return nil, fmt.Errorf("looking at topics %v on %v: %w", c.cfg.Topics, c.cfg.Brokers, err)
	}
	found := layout{}
	for _, t := range meta.Topics {
		if t.Error == nil && len(t.Partitions) > 0 {
			found[t.Name] = len(t.Partitions)
		}
	}
	return found, nil
}

// watch looks until the layout is another than have, and returns it; nil when ctx ended first.
func (c *Consumer) watch(ctx context.Context, have layout) layout {
	ticker := time.NewTicker(c.cfg.WatchEvery)
	defer ticker.Stop()
	told := false
	for shrunk := 0; ; {
		found, err := c.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			c.event(Event{Kind: KindTopics, Err: err})
		case !have.covers(found):
			return found
		case !found.covers(have):
			if shrunk++; shrunk >= shrinkLooks {
				return found
			}
		default:
			shrunk = 0
			if !told && len(have) == 0 { // otherwise setLayout has told
				told = true
				c.event(Event{Kind: KindTopics, Err: c.missing(found)})
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// missing names the topics that do not exist, or answers nil.
func (c *Consumer) missing(found layout) error {
	var names []string
	for _, topic := range c.cfg.Topics {
		if found[topic] == 0 {
			names = append(names, topic)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s; read as soon as it exists", ErrNoTopic, strings.Join(names, ", "))
}

// ends asks for the end of each partition given: one past its last record.
func (c *Consumer) ends(ctx context.Context, of map[string][]kafka.OffsetRequest) (map[string][]kafka.PartitionOffsets, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	res, err := c.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: of})
	if err != nil {
		return nil, fmt.Errorf("asking for the ends of partitions: %w", err)
	}
	return res.Topics, nil
}

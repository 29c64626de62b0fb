package consume

import (
	"context"
	"fmt"
	"time"

	"pusher/internal/fault"
)

// commitUntil commits on a timer until ctx ends. A commit per record would cost a round trip each, and Kafka 4.1
// makes every one wait 5 ms for company.
func (g *generation) commitUntil(ctx context.Context) {
	ticker := time.NewTicker(g.c.cfg.CommitEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			g.commit()
		}
	}
}

// commit commits the watermarks that advanced since the last commit, in one request. What fails is covered by the
// next commit, or comes again.
func (g *generation) commit() {
	offsets := make(map[string]map[int]int64)
	for _, p := range g.partitions {
		at := p.mark.position()
		if p.mark.reading() <= p.committed.Load() {
			p.moved.Store(time.Now().UnixNano())
		}
		if at <= p.committed.Load() {
			continue
		}
		if offsets[p.topic] == nil {
			offsets[p.topic] = make(map[int]int64)
		}
		offsets[p.topic][p.id] = at
	}
	if len(offsets) == 0 {
		return
	}
	if err := g.commitOffsets(offsets); err != nil {
		g.c.counts.commitsFailed.Add(1)
		g.c.event(Event{Kind: KindCommit, Err: fmt.Errorf("committing offsets in generation %d: %w", g.id, err)})
		return
	}
	for _, p := range g.partitions {
		if at, advanced := offsets[p.topic][p.id]; advanced {
			p.committed.Store(at)
			p.moved.Store(time.Now().UnixNano())
		}
	}
}

// commitOffsets is the request itself.
func (g *generation) commitOffsets(offsets map[string]map[int]int64) error {
	if err := fault.At(fault.BeforeCommit); err != nil {
		return err
	}
	if err := g.commits.CommitOffsets(offsets); err != nil {
		return err
	}
	return fault.At(fault.AfterCommit)
}

package consume

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// committer is the kafka.Generation that owns the partitions.
type committer interface {
	CommitOffsets(offsets map[string]map[int]int64) error
}

// generation is one turn of the group: the partitions that are ours until it ends.
type generation struct {
	c          *Consumer
	id         int32
	commits    committer
	partitions []*partition
	loops      tasks // the partitions' readers; they end before the drain
	parked     tasks // records that wait for another try or a dead letter; they end after the drain
}

// live runs one generation to its end. Its whole life is one function started by the generation: kafka-go keeps the
// connection open until that returns, so the last commit still goes through the generation that owns the partitions.
func (c *Consumer) live(run, member context.Context, gen *kafka.Generation) {
	g := &generation{c: c, id: gen.ID, commits: gen}
	for topic, assigned := range gen.Assignments {
		for _, a := range assigned {
			g.partitions = append(g.partitions, newPartition(g, topic, a))
		}
	}
	slices.SortFunc(g.partitions, func(a, b *partition) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id))
	})
	ended := make(chan struct{}) // waited for here: closing the group earlier would stop the heartbeats of the drain
	gen.Start(func(alive context.Context) {
		defer close(ended)
		g.run(run, member, alive)
	})
	<-ended
}

// run reads until the generation or the membership ends, then drains and commits. Heartbeats stop when the generation
// ends, so from then on there is DrainTimeout; at the end of Run the generation stays alive while it drains.
//
// run is the life of Run, member that of the membership, alive that of kafka-go's generation.
func (g *generation) run(run, member, alive context.Context) {
	handing, stop := context.WithCancel(member)
	defer stop()
	defer context.AfterFunc(alive, stop)()
	work, abandon := context.WithCancel(context.Background())
	defer abandon()

	g.c.begin(g)
	for _, p := range g.partitions {
		g.loops.start(func() { p.run(handing, work) })
	}
	g.loops.start(func() { g.followEnds(handing) })
	g.commitUntil(handing)

	left := g.drain(run, alive)
	abandon()
	g.parked.ended(time.Second)
	g.commit()
	g.c.end(g)
	if left > 0 {
		g.c.event(Event{Kind: KindUndrained, Err: fmt.Errorf("%d records are still out; they come again", left)})
	}
}

// drain waits until everything handed out is taken care of, as long as there is time, and answers how many are not.
// It goes on committing meanwhile: who loses patience and kills the process loses as little as possible.
func (g *generation) drain(run, alive context.Context) (left int) {
	limit := g.c.cfg.DrainTimeout
	if run.Err() != nil && alive.Err() == nil {
		limit = g.c.cfg.Grace * 4 / 5 // the rest is for the last commit and for leaving
	}
	deadline, over := context.WithTimeout(g.c.wire.life, limit)
	defer over()
	defer context.AfterFunc(alive, func() { time.AfterFunc(g.c.cfg.DrainTimeout, over) })()

	draining, drained := context.WithCancel(deadline)
	var committing sync.WaitGroup
	committing.Go(func() { g.commitUntil(draining) })
	defer committing.Wait()
	defer drained()

	if g.loops.endedBefore(deadline) {
		for _, p := range g.partitions {
			select {
			case <-p.mark.drained():
			case <-deadline.Done():
			}
		}
	}
	for _, p := range g.partitions {
		left += p.mark.undone()
	}
	return left
}

// followEnds keeps the end of each partition in view, so that the lag is known while nothing is fetched.
func (g *generation) followEnds(ctx context.Context) {
	if len(g.partitions) == 0 {
		return
	}
	of := make(map[string][]kafka.OffsetRequest)
	byName := make(map[string]map[int]*partition)
	for _, p := range g.partitions {
		of[p.topic] = append(of[p.topic], kafka.LastOffsetOf(p.id))
		if byName[p.topic] == nil {
			byName[p.topic] = make(map[int]*partition)
		}
		byName[p.topic][p.id] = p
	}
	for pause(ctx, g.c.cfg.WatchEvery) {
		ends, err := g.c.ends(ctx, of)
		if err != nil {
			continue // the readers and the watch tell what is wrong
		}
		for topic, partitions := range ends {
			for _, o := range partitions {
				if p := byName[topic][o.Partition]; p != nil && o.Error == nil {
					p.end.Store(o.LastOffset)
				}
			}
		}
	}
}

// tasks are goroutines that end together. Nothing starts after ended was called.
type tasks struct {
	wg sync.WaitGroup

	mu     sync.Mutex
	closed bool // guarded by mu
}

// start runs fn in a goroutine, unless the tasks have ended.
func (t *tasks) start(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.wg.Go(fn)
	}
}

// endedBefore waits for all tasks while ctx lives, and reports whether they ended. A goroutine stays behind with one
// that never does.
func (t *tasks) endedBefore(ctx context.Context) bool {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.wg.Wait()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// ended waits for all tasks, no longer than d.
func (t *tasks) ended(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	t.endedBefore(ctx)
}

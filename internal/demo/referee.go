package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pusher/internal/assemble"
	"pusher/internal/push"
	"pusher/internal/store"
)

// lookAtOnce bounds one look at the push log.
const lookAtOnce = 500

// referee knows the story, and asks the providers, the inbox and the push log how it ended.
type referee struct {
	world *world
	log   *store.Store
	inbox *pgxpool.Pool
	wants []want
}

// want is one delivery and what it must come to.
type want struct {
	push.Lookup

	status push.Status
}

func newReferee(ctx context.Context, w *world, events []event) (*referee, error) {
	r := &referee{world: w}
	for _, e := range events {
		for _, action := range slices.Sorted(maps.Keys(e.want)) {
			id := push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: e.id, Action: action}
			r.wants = append(r.wants, want{push.Lookup{Identity: id, Round: 1}, e.want[action]})
		}
	}
	var err error
	if r.log, err = assemble.Store(ctx, w.cfg, "referee"); err != nil {
		return nil, err
	}
	if r.inbox, err = pgxpool.New(ctx, w.cfg.Postgres.URL.Reveal()); err != nil {
		r.log.Close()
		return nil, fmt.Errorf("opening the inbox: %w", err)
	}
	return r, nil
}

func (r *referee) close() {
	r.log.Close()
	r.inbox.Close()
}

// deliveries is how many deliveries the story has.
func (r *referee) deliveries() int { return len(r.wants) }

// arrived counts the deliveries that are where they must be.
func (r *referee) arrived(ctx context.Context) (int, error) {
	n := 0
	err := r.each(ctx, func(w want, row push.Row) {
		if row.Status == w.status {
			n++
		}
	})
	return n, err
}

// each looks at the row of every delivery.
func (r *referee) each(ctx context.Context, look func(want, push.Row)) error {
	for part := range slices.Chunk(r.wants, lookAtOnce) {
		lookups := make([]push.Lookup, len(part))
		for i, w := range part {
			lookups[i] = w.Lookup
		}
		for i, a := range r.log.Look(ctx, lookups) {
			if a.Err != nil {
				return a.Err
			}
			look(part[i], a.Row)
		}
	}
	return nil
}

// judge compares the story's end with what the providers accepted and what is in the inbox.
func (r *referee) judge(ctx context.Context) (*verdict, error) {
	inboxes, err := r.inboxes(ctx)
	if err != nil {
		return nil, err
	}
	v := &verdict{events: r.events(), byAction: map[push.Action]map[push.Status]int{}}
	err = r.each(ctx, func(w want, row push.Row) {
		accepted := r.world.sandbox.Journal().Count(w.Reference(1))
		if w.Action == push.Notify {
			accepted = inboxes[row.ID]
		}
		v.count(w, row, accepted)
	})
	return v, err
}

// inboxes counts the in-app messages of each delivery.
func (r *referee) inboxes(ctx context.Context) (map[int64]int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rows, err := r.inbox.Query(ctx, `SELECT delivery_id, count(*) FROM inbox_message GROUP BY delivery_id`)
	if err != nil {
		return nil, fmt.Errorf("reading the inbox: %w", err)
	}
	counts := map[int64]int{}
	var id int64
	var n int
	_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error { counts[id] = n; return nil })
	if err != nil {
		return nil, fmt.Errorf("reading the inbox: %w", err)
	}
	return counts, nil
}

func (r *referee) events() int {
	ids := map[string]bool{}
	for _, w := range r.wants {
		ids[w.DedupID] = true
	}
	return len(ids)
}

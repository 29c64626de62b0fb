package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

const (
	followPage = 500

	// followBack is how far each look reaches back: a change becomes visible when it is committed, up to so much later
	// than the time it carries.
	followBack = 5 * time.Second
)

// newLogFollowCommand is `pusher log follow`.
func newLogFollowCommand(w *cli.World) *cobra.Command {
	var f filterFlags
	var every time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "follow",
		Short: "Show deliveries as they change, until Ctrl-C",
		Args:  cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.filter(time.Now())
			if err == nil && every < 100*time.Millisecond {
				err = fmt.Errorf("--every %s is less than 100ms", every)
			}
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			return withStore(cmd.Context(), w, func(c *config.Config, log *store.Store) error {
				tail := &follower{log: log, filter: f.toRecipient(assemble.Desk(c, log, nil, nil), filter), seen: map[change]time.Time{}}
				return tail.follow(cmd.Context(), every, func(e push.Entry) error { return printChange(w, e, asJSON) })
			})
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often to look")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON lines")
	return cmd
}

// changes is where a follower looks. *store.Store is one.
type changes interface {
	Changes(ctx context.Context, f push.Filter, at time.Time, id int64, limit int) ([]push.Entry, time.Time, error)
}

// change is one change of one delivery.
type change struct {
	id int64
	at time.Time
}

// follower tells each change of the push log once, from its first look on.
type follower struct {
	log    changes
	filter push.Filter
	at     time.Time            // up to where it has looked, by PostgreSQL's clock
	seen   map[change]time.Time // told, while another look may find them again
}

// follow looks until ctx ends, which is no error.
func (f *follower) follow(ctx context.Context, every time.Duration, tell func(push.Entry) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := f.look(ctx, tell)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look tells what has changed since the last look; the first one only takes the time.
func (f *follower) look(ctx context.Context, tell func(push.Entry) error) error {
	if f.at.IsZero() {
		_, now, err := f.log.Changes(ctx, f.filter, time.Time{}, 0, 0)
		f.at = now
		return err
	}
	from := change{at: f.at.Add(-followBack)}
	var until time.Time
	for {
		list, now, err := f.log.Changes(ctx, f.filter, from.at, from.id, followPage)
		if err != nil {
			return err
		}
		if until.IsZero() {
			until = now
		}
		for _, e := range list {
			from = change{e.ID, e.UpdatedAt}
			if _, told := f.seen[from]; told || e.UpdatedAt.Before(f.at.Add(-followBack)) {
				continue
			}
			f.seen[from] = e.UpdatedAt
			if err := tell(e); err != nil {
				return err
			}
		}
		if len(list) < followPage {
			break
		}
	}
	f.forget(until)
	return nil
}

// forget drops what no later look finds again.
func (f *follower) forget(now time.Time) {
	f.at = now
	for c := range f.seen {
		if c.at.Before(now.Add(-2 * followBack)) {
			delete(f.seen, c)
		}
	}
}

// printChange writes one change in a line.
func printChange(w *cli.World, e push.Entry, asJSON bool) error {
	d := viewOf(e)
	if asJSON {
		line, err := json.Marshal(d)
		return errors.Join(err, second(fmt.Fprintf(w.Stdout, "%s\n", line)))
	}
	_, err := fmt.Fprintf(w.Stdout, "%s  %-11s  %s %s %s  row %d  attempt %d  %s  %s  %s\n", clock(d.UpdatedAt), d.Status,
		d.BizType, d.BizID, d.Action, d.ID, d.Attempt, orDash(d.Provider), orDash(d.Recipient), orDash(d.ErrorCode))
	return err
}

// second is the error of a write.
func second(_ int, err error) error { return err }

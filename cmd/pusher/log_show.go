package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/dedup"
	"pusher/internal/push"
	"pusher/internal/store"
)

// newLogShowCommand is `pusher log show`. The name is checked before anything is opened.
func newLogShowCommand(w *cli.World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show BIZ_TYPE BIZ_ID ACTION | KEY | ID",
		Short: "Explain one delivery: row, attempts, Redis key, origin, what happens next",
		Args: cli.Args(func(_ *cobra.Command, args []string) error {
			_, err := named(args)
			return err
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := named(args)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), w, func(c *config.Config, log *store.Store) error {
				told, err := explain(cmd.Context(), c, log, filter)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(w.Stdout, told)
				}
				return told.print(w)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// named reads the name of one delivery; Before is one above a row's id.
func named(args []string) (store.Filter, error) {
	var f store.Filter
	switch len(args) {
	case 1:
		if id, err := strconv.ParseInt(args[0], 10, 64); err == nil && id > 0 {
			f.Before = id + 1
			return f, nil
		}
		id, err := ofKey(args[0])
		f.Identity = id
		return f, err
	case 3:
		f.Identity = push.Identity{BizType: args[0], Action: push.Action(args[2])}
		f.BizID = args[1]
		return f, nil
	}
	return f, fmt.Errorf("a delivery is named by BIZ_TYPE BIZ_ID ACTION, by its key or by its row id; %d words are given", len(args))
}

// ofKey reads a dedup key back.
func ofKey(key string) (push.Identity, error) {
	parts := strings.Split(key, ":")
	if len(parts) != 5 || parts[0] != "push" || parts[1] != "dedup" {
		return push.Identity{}, fmt.Errorf("%q is neither a row id nor a key such as push:dedup:resume_viewed:10248:sms", key)
	}
	bizType, version, versioned := strings.Cut(parts[2], "@")
	if !versioned {
		version = "v1"
	}
	bizType, err := url.PathUnescape(bizType)
	if err != nil {
		return push.Identity{}, fmt.Errorf("%q is no key: %w", key, err)
	}
	action, err := url.PathUnescape(parts[4])
	if err != nil {
		return push.Identity{}, fmt.Errorf("%q is no key: %w", key, err)
	}
	return push.Identity{BizType: bizType, RuleVersion: version, DedupID: parts[3], Action: push.Action(action)}, nil
}

// story is all that is known of one delivery.
type story struct {
	Delivery  delivery  `json:"delivery"`
	Attempts  []attempt `json:"attempts"`
	Receipts  []receipt `json:"receipts"`  // what its provider said later
	Reference string    `json:"reference"` // by which the provider knows it
	Redis     string    `json:"redis"`     // what its key says
	Means     string    `json:"means"`     // what the status says
	Next      string    `json:"next"`      // what happens next
	Others    []int64   `json:"others,omitempty"`
}

// explain finds the newest delivery of that name, with everything about it.
func explain(ctx context.Context, c *config.Config, log *store.Store, f store.Filter) (story, error) {
	f.Limit = 20
	if f.Before > 0 {
		f.Limit = 1
	}
	found, err := log.List(ctx, f)
	if err != nil {
		return story{}, err
	}
	if len(found) == 0 || f.Before > 0 && found[0].ID != f.Before-1 {
		return story{}, store.ErrNotFound
	}
	entry, attempts, err := log.Show(ctx, found[0].ID)
	if err != nil {
		return story{}, err
	}
	receipts, err := log.Receipts(ctx, entry.ID)
	if err != nil {
		return story{}, err
	}
	told := story{
		Delivery: viewOf(entry), Attempts: []attempt{}, Receipts: receiptsOf(receipts),
		Redis: keyWords(ctx, c, entry.Key()), Reference: entry.Reference(entry.Round),
		Means: means(entry), Next: next(entry, account(attempts), c, time.Now()),
	}
	for _, a := range attempts {
		told.Attempts = append(told.Attempts, attemptOf(a))
	}
	for _, other := range found[1:] {
		told.Others = append(told.Others, other.ID)
	}
	return told, nil
}

// keyWords says what Redis holds; its absence hides nothing, since the row decides.
func keyWords(ctx context.Context, c *config.Config, key string) string {
	client, err := assemble.Redis(ctx, c)
	if err != nil {
		return "not read: " + cli.OneLine(err)
	}
	defer func() { _ = client.Close() }()
	info, err := dedup.New(client, c.Dedup.Lease).Inspect(ctx, key)
	switch {
	case err != nil:
		return "not read: " + cli.OneLine(err)
	case info.Foreign:
		return "something else stands under this key; the next claim replaces it"
	case info.State == push.KeyAbsent:
		return "absent: the push log alone decides"
	case info.State == push.KeyProcessing && info.LeaseLeft > 0:
		return "processing, lease for another " + span(info.LeaseLeft)
	case info.State == push.KeyProcessing:
		return "processing, lease over: whoever claims next takes over"
	}
	return fmt.Sprintf("%s, attempt %d, kept for another %s", info.State, info.Attempt, span(info.TTL))
}

package main

import (
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/operate"
	"pusher/internal/push"
	"pusher/internal/store"
)

// newLogShowCommand is `pusher log show`. The name is checked before anything is opened.
func newLogShowCommand(w *cli.World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show BIZ_TYPE BIZ_ID ACTION | KEY | ID",
		Short: "Explain one delivery: row, attempts, Redis key, receipts, origin, what happens next",
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
				keys, closeKeys, err := assemble.Keys(c)
				if err != nil {
					return err
				}
				defer func() { _ = closeKeys() }()
				s, err := assemble.Desk(c, log, keys, nil).Named(cmd.Context(), filter)
				if err != nil {
					return err
				}
				told := storyOf(s)
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

// story is all that is known of one delivery, in JSON.
type story struct {
	Delivery  delivery  `json:"delivery"`
	Attempts  []attempt `json:"attempts"`
	Receipts  []receipt `json:"receipts"`            // what its provider said later
	Actions   []deed    `json:"actions"`             // what operators did to it
	Reference string    `json:"reference"`           // by which the provider knows it
	Redis     string    `json:"redis"`               // what its key says
	RedisKey  *redisKey `json:"redis_key,omitempty"` // the same for machines; absent where Redis did not answer
	Means     string    `json:"means"`               // what the status says
	Next      string    `json:"next"`                // what happens next
	Route     string    `json:"route,omitempty"`     // who sent it, and why not the ones before
	Others    []int64   `json:"others,omitempty"`
}

// redisKey is a dedup key in JSON.
type redisKey struct {
	State     string  `json:"state"`
	Owner     string  `json:"owner,omitempty"`
	Attempt   int     `json:"attempt"`
	LeaseLeft float64 `json:"lease_left_seconds"`
	TTL       float64 `json:"ttl_seconds"`
}

// deed is one act of an operator on a delivery, in JSON.
type deed struct {
	ID      int64       `json:"action_id"`
	At      time.Time   `json:"at"`
	Actor   string      `json:"actor"`
	Role    string      `json:"role"`
	Verb    string      `json:"verb"`
	Reason  string      `json:"reason"`
	Was     push.Status `json:"was"`
	Attempt int         `json:"attempt"` // before
}

// storyOf makes the JSON of a story: [] and not null where there is nothing.
func storyOf(s operate.Story) story {
	told := story{
		Delivery: viewOf(s.Entry), Attempts: []attempt{}, Receipts: receiptsOf(s.Receipts), Actions: []deed{},
		Reference: s.Reference, Redis: s.Redis, Means: s.Means, Next: s.Next, Route: s.Route, Others: s.Others,
	}
	for _, a := range s.Attempts {
		told.Attempts = append(told.Attempts, attemptOf(a))
	}
	for _, a := range s.Actions {
		told.Actions = append(told.Actions, deed{
			ID: a.ID, At: a.BegunAt.UTC(), Actor: a.Actor, Role: a.Role, Verb: a.Verb, Reason: a.Reason, Was: a.Was,
			Attempt: a.Attempt,
		})
	}
	if k := s.RedisKey; k != nil {
		told.RedisKey = &redisKey{
			State: k.State.String(), Owner: k.Owner, Attempt: k.Attempt, LeaseLeft: k.LeaseLeft.Seconds(), TTL: k.TTL.Seconds(),
		}
	}
	return told
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/operate"
	"pusher/internal/push"
	"pusher/internal/store"
)

// roleCLI is as what an operator at a shell acts: whoever has the configuration may.
const roleCLI = "cli"

// actFlags say what a deed is about, who does it, and why.
type actFlags struct {
	filterFlags

	as, reason  string
	yes, asJSON bool
}

func (f *actFlags) add(cmd *cobra.Command) {
	f.filterFlags.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do it; without, only say what would be done")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why; the audit keeps it, and --yes asks for it")
	cmd.Flags().StringVar(&f.as, "as", "", "who does it, for the audit (default: the user of this shell)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

const actLong = `

Names one delivery (BIZ_TYPE BIZ_ID ACTION, its key, or its row id), or many by the flags of list. Always a dry run first:
how many would be sent, are held back, are expired, may be sent twice. --yes with --reason does it; each delivery moves
only while it still is what the dry run saw. What is queued is published at once; where Kafka does not take it, the
compensator's next passes do.`

// newLogRequeueCommand is `pusher log requeue`.
func newLogRequeueCommand(w *cli.World) *cobra.Command {
	var f actFlags
	cmd := &cobra.Command{
		Use:   "requeue [BIZ_TYPE BIZ_ID ACTION | KEY | ID]",
		Short: "Send once more what was certainly not sent: dead ones whose cause is mended, failed ones without waiting",
		Long:  "Sends deliveries once more that were certainly not sent." + actLong,
		Args:  cli.Args(f.checked),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.act(cmd.Context(), w, push.Requeue, args)
		},
	}
	f.add(cmd)
	return cmd
}

// newLogResolveCommand is `pusher log resolve`.
func newLogResolveCommand(w *cli.World) *cobra.Command {
	var f actFlags
	words := map[push.Verb]*bool{push.ResolveSent: new(bool), push.ResolveNotSent: new(bool), push.ResolveResend: new(bool)}
	cmd := &cobra.Command{
		Use:   "resolve (--sent | --not-sent | --resend) [BIZ_TYPE BIZ_ID ACTION | KEY | ID]",
		Short: "Say what became of sends whose outcome is not known",
		Long:  "Says what became of deliveries that are unknown, or were given up as such." + actLong,
		Args: cli.Args(func(cmd *cobra.Command, args []string) error {
			if _, err := word(words); err != nil {
				return err
			}
			return f.checked(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, _ := word(words)
			return f.act(cmd.Context(), w, verb, args)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(words[push.ResolveSent], "sent", false, "it was sent: settles it")
	cmd.Flags().BoolVar(words[push.ResolveNotSent], "not-sent", false, "it was not sent: sends it once more")
	cmd.Flags().BoolVar(words[push.ResolveResend], "resend", false, "nobody knows: sends it once more, as a possible duplicate")
	return cmd
}

// word is the one verb that the flags of resolve name.
func word(words map[push.Verb]*bool) (push.Verb, error) {
	var said []push.Verb
	for verb, given := range words {
		if *given {
			said = append(said, verb)
		}
	}
	if len(said) != 1 {
		return "", fmt.Errorf("one of --sent, --not-sent and --resend says what became of it; %d are given", len(said))
	}
	return said[0], nil
}

// checked refuses a deed without aim or reason before anything is opened.
func (f *actFlags) checked(_ *cobra.Command, args []string) error {
	filter, err := f.filter(time.Now())
	switch {
	case err != nil:
		return err
	case len(args) > 0 && !f.isZero():
		return errors.New("either one delivery is named, or many by flags: not both")
	case len(args) > 0:
		_, err = named(args)
		return err
	case filter.String() == push.Filter{}.String() && f.recipient == "":
		return errors.New("nothing says which deliveries: name one, or use the flags of list")
	}
	return nil
}

// namesakes is how many rows of one name a deed looks at: rounds and versions of it.
const namesakes = 20

// aim is what a checked deed is about. One that is named is judged whatever its status is: it is named by its rows.
func (f *actFlags) aim(ctx context.Context, log *store.Store, desk *operate.Desk, args []string) (push.Filter, error) {
	if len(args) == 0 {
		filter, err := f.filter(time.Now())
		return f.toRecipient(desk, filter), err
	}
	name, err := named(args)
	if err != nil {
		return name, err
	}
	rows, _, err := listed(ctx, log, name, 0, namesakes)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%s: %w", name, push.ErrNotFound)
	}
	var ids push.Filter
	for _, e := range rows {
		ids.IDs = append(ids.IDs, e.ID)
	}
	return ids, err
}

// act plans the deed, shows the plan, and does it where --yes says so.
func (f *actFlags) act(ctx context.Context, w *cli.World, verb push.Verb, args []string) error {
	if f.yes && f.reason == "" {
		return &cli.UsageError{Err: errors.New("--yes asks for --reason: the audit keeps who did what, and why")}
	}
	return withStore(ctx, w, func(c *config.Config, log *store.Store) error {
		publisher, closeAll, err := f.publisher(ctx, c)
		if err != nil {
			return err
		}
		defer closeAll()
		desk := assemble.Desk(c, log, nil, publisher)
		filter, err := f.aim(ctx, log, desk, args)
		if err != nil {
			return err
		}
		plan, err := desk.Plan(ctx, verb, filter)
		if err != nil {
			return err
		}
		return f.carryOut(ctx, w, desk, plan)
	})
}

// publisher opens a way to the retry topic for a deed that is meant.
func (f *actFlags) publisher(ctx context.Context, c *config.Config) (operate.Publisher, func(), error) {
	if !f.yes {
		return nil, func() {}, nil
	}
	producer, err := assemble.Producer(c)
	if err != nil {
		return nil, nil, err
	}
	return producer, func() { _ = producer.Close(context.WithoutCancel(ctx)) }, nil
}

// carryOut prints the plan, and with --yes does it and prints the outcome.
func (f *actFlags) carryOut(ctx context.Context, w *cli.World, desk *operate.Desk, plan *operate.Plan) error {
	told := planOf(plan, !f.yes)
	if !f.yes || plan.Changes() == 0 {
		return told.print(w, f.asJSON)
	}
	by := operate.Actor{Name: orUser(f.as, w.Lookup), Role: roleCLI}
	out, err := desk.Apply(ctx, plan, by, f.reason)
	told.Outcome = &out
	return errors.Join(told.print(w, f.asJSON), err)
}

// orUser is the name that an act is kept under.
func orUser(as string, lookup config.Lookup) string {
	for _, name := range []string{"SUDO_USER", "USER", "LOGNAME"} {
		if as == "" {
			as, _ = lookup(name)
		}
	}
	if as == "" {
		return "unknown"
	}
	return as
}

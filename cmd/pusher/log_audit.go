package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/operate"
	"pusher/internal/store"
)

// errGaps ends an audit that found some; what they are stands on stdout.
var errGaps = errors.New("there are gaps")

// newLogAuditCommand is `pusher log audit`.
func newLogAuditCommand(w *cli.World) *cobra.Command {
	var f struct {
		from, to, provider string
		since              time.Duration
		asJSON             bool
	}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compare Kafka, the push log, Redis and a provider's own details; exit 1 if there are gaps",
		Long: "Reads what was written to Kafka in a time (by the records' own timestamps) and looks whether every committed record\n" +
			"has its rows or its dead letter, whether anything was sent twice, and whether dedup keys agree with their rows. With\n" +
			"--provider it asks that provider about each SMS of the time, one question a message. It changes nothing.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, to, err := auditSpan(f.from, f.to, f.since, time.Now())
			if err == nil && !slices.Contains([]string{"", "aliyun", "tencent"}, f.provider) {
				err = fmt.Errorf("--provider %q cannot be asked: aliyun or tencent", f.provider)
			}
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			return withStore(cmd.Context(), w, func(c *config.Config, log *store.Store) error {
				report, err := assemble.Audit(cmd.Context(), c, log, f.provider, from, to)
				if err != nil {
					return err
				}
				if err := printReport(w, report, f.asJSON); err != nil {
					return err
				}
				if len(report.Gaps) > 0 {
					return fmt.Errorf("%w: %d", errGaps, len(report.Gaps))
				}
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "records at or after this time: RFC 3339, 2026-01-02 15:04:05 in UTC, or how long ago, such as 20m")
	flags.StringVar(&f.to, "to", "", "records before this time; now, unless said")
	flags.DurationVar(&f.since, "since", time.Hour, "records of this last time, where no --from is given")
	flags.StringVar(&f.provider, "provider", "", "ask this provider, too: aliyun or tencent")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// auditSpan reads the time that is audited.
func auditSpan(fromText, toText string, since time.Duration, now time.Time) (from, to time.Time, err error) {
	if from, err = momentOf("--from", fromText, now); err != nil {
		return from, to, err
	}
	if to, err = momentOf("--to", toText, now); err != nil {
		return from, to, err
	}
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-since)
	}
	if !from.Before(to) {
		return from, to, fmt.Errorf("--from %s is not before --to %s", from.Format(time.RFC3339), to.Format(time.RFC3339))
	}
	return from, to, nil
}

// printReport prints what an audit found, as JSON or as tables.
func printReport(w *cli.World, r operate.Report, asJSON bool) error {
	if asJSON {
		return printJSON(w.Stdout, r)
	}
	span := r.From.UTC().Format(time.DateTime) + " to " + r.To.UTC().Format(time.DateTime)
	err := table(w.Stdout, "audit\t"+span, func(line func(...any)) {
		line("records", r.Records)
		line("no event", r.Poison)
		line("deliveries", r.Deliveries)
		line("keys compared", r.Keys)
		line("provider asked", r.Asked)
		line("not yet committed", r.Waiting)
		line("gaps", len(r.Gaps))
		line("notes", len(r.Notes))
	})
	return errors.Join(err, printFindings(w, "GAP", r.Gaps), printFindings(w, "NOTE", r.Notes))
}

// printFindings prints findings as a table; nothing where there are none.
func printFindings(w *cli.World, heading string, list []operate.Finding) error {
	if len(list) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(w.Stdout)
	return table(w.Stdout, heading+"\tWHERE\tKEY\tSAYS", func(line func(...any)) {
		for _, f := range list {
			line(strings.ReplaceAll(f.Kind, "_", " "), f.Where, orDash(f.Key), f.Says)
		}
	})
}

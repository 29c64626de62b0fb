package main

import (
	"context"
	"crypto/subtle"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

const (
	exportPage     = 1000
	exportUnmasked = "export-unmasked" // the verb of the audit
	formatCSV      = "csv"
	formatJSON     = "jsonl"
)

// exportFlags say what is exported, how, and who may see it whole.
type exportFlags struct {
	filterFlags

	format, tokenFile, as, reason string
	asJSON, unmasked              bool
}

// newLogExportCommand is `pusher log export`.
func newLogExportCommand(w *cli.World) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write deliveries as CSV or JSON lines, newest first",
		Long: "Writes deliveries to stdout, newest first. Recipients and user ids are masked; --unmasked writes them whole where\n" +
			"they are still kept, asks for the operator's token (http.operator_token) in --token-file and a --reason, and is audited.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.checked()
			if err != nil {
				return &cli.UsageError{Err: err}
			}
			return withStore(cmd.Context(), w, func(c *config.Config, log *store.Store) error {
				return f.export(cmd.Context(), w, c, log, filter)
			})
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&f.format, "format", formatCSV, "csv or jsonl")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "the same as --format jsonl")
	cmd.Flags().BoolVar(&f.unmasked, "unmasked", false, "recipients and user ids whole; audited")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "where the operator's token is read from")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why they must be whole; the audit keeps it")
	cmd.Flags().StringVar(&f.as, "as", "", "who exports, for the audit (default: the user of this shell)")
	return cmd
}

// checked refuses what makes no sense before anything is opened.
func (f *exportFlags) checked() (push.Filter, error) {
	if f.asJSON {
		f.format = formatJSON
	}
	switch {
	case f.format != formatCSV && f.format != formatJSON:
		return push.Filter{}, fmt.Errorf("--format %q is neither csv nor jsonl", f.format)
	case f.unmasked && (f.reason == "" || f.tokenFile == ""):
		return push.Filter{}, errors.New("--unmasked asks for --token-file with the operator's token, and for --reason")
	}
	return f.filter(time.Now())
}

// export writes page by page: memory does not grow with the log.
func (f *exportFlags) export(ctx context.Context, w *cli.World, c *config.Config, log *store.Store, filter push.Filter) error {
	filter = f.toRecipient(assemble.Desk(c, log, nil, nil), filter)
	if f.unmasked {
		if err := f.allowed(ctx, w, c, log, filter); err != nil {
			return err
		}
	}
	write := newExport(w.Stdout, f.format)
	for before := int64(0); ; {
		page, err := log.List(ctx, filter, before, exportPage)
		if err != nil {
			return err
		}
		views, err := f.views(ctx, log, page.Entries)
		if err == nil {
			err = write(views)
		}
		if err != nil || page.Next == 0 {
			return err
		}
		before = page.Next
	}
}

// allowed checks the token and notes the export in the audit, before anything whole is read.
func (f *exportFlags) allowed(ctx context.Context, w *cli.World, c *config.Config, log *store.Store, filter push.Filter) error {
	want := c.HTTP.OperatorToken.Reveal()
	if want == "" {
		return errors.New("--unmasked: http.operator_token is not configured, so nobody is authorised")
	}
	given, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return fmt.Errorf("reading --token-file: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(strings.TrimSpace(string(given))), []byte(want)) != 1 {
		return errors.New("--unmasked: --token-file does not hold the operator's token (http.operator_token)")
	}
	id, err := log.Begin(ctx, push.Deeds{
		Actor: orUser(f.as, w.Lookup), Role: "operator", Verb: exportUnmasked, Reason: f.reason, Filter: filter.String(),
		Counts: map[string]int{},
	})
	if err != nil {
		return err
	}
	return log.Finish(ctx, id, 0)
}

// views masks deliveries, or makes them whole for those who may see them.
func (f *exportFlags) views(ctx context.Context, log *store.Store, entries []push.Entry) ([]delivery, error) {
	views := make([]delivery, len(entries))
	for i, e := range entries {
		views[i] = viewOf(e)
	}
	if !f.unmasked || len(entries) == 0 {
		return views, nil
	}
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i], views[i].UserID = e.ID, e.UserID
	}
	whole, err := log.Whole(ctx, ids)
	for i, id := range ids {
		if to, kept := whole[id]; kept {
			views[i].Recipient = to
		}
	}
	return views, err
}

// newExport writes pages of deliveries in a format.
func newExport(out io.Writer, format string) func([]delivery) error {
	if format == formatJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		return func(page []delivery) error {
			for _, d := range page {
				if err := encoder.Encode(d); err != nil {
					return err
				}
			}
			return nil
		}
	}
	sheet := csv.NewWriter(out)
	headed := false
	return func(page []delivery) error {
		if !headed {
			headed = true
			_ = sheet.Write(strings.Fields(exportHeading)) // Error tells
		}
		for _, d := range page {
			_ = sheet.Write(d.record())
		}
		sheet.Flush()
		return sheet.Error()
	}
}

// exportHeading names the columns of delivery.record, as JSON does.
const exportHeading = `id key biz_type rule_version dedup_id action round biz_id status attempt retries_used provider
	provider_msg_id error_code error_message user_id recipient event_id trace_id possible_duplicate topic partition offset
	record_time created_at updated_at next_attempt_at settled_at sent_at`

// record is a delivery as a line of CSV.
func (d delivery) record() []string {
	cells := []string{
		strconv.FormatInt(d.ID, 10), d.Key, d.BizType, d.RuleVersion, d.DedupID, string(d.Action), strconv.Itoa(d.Round),
		d.BizID, string(d.Status), strconv.Itoa(d.Attempt), strconv.Itoa(d.RetriesUsed), d.Provider, d.ProviderMsgID,
		d.ErrorCode, d.ErrorMessage, d.UserID, d.Recipient, d.EventID, d.TraceID, strconv.FormatBool(d.PossibleDuplicate),
		d.Topic, strconv.Itoa(d.Partition), strconv.FormatInt(d.Offset, 10), iso(d.RecordTime), iso(d.CreatedAt),
		iso(d.UpdatedAt), iso(d.NextAttemptAt), iso(d.SettledAt), iso(d.SentAt),
	}
	for i, cell := range cells {
		cells[i] = harmless(cell)
	}
	return cells
}

// harmless keeps a spreadsheet from reading text as a formula: ids and messages are what producers and providers
// write. A leading quote is what OWASP's page on CSV injection advises; a phone stays a phone.
func harmless(cell string) string {
	phone := strings.HasPrefix(cell, "+") && strings.Trim(cell[1:], "0123456789*") == ""
	if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) && !phone {
		return "'" + cell
	}
	return cell
}

// iso is a time for machines; empty when it is not set.
func iso(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

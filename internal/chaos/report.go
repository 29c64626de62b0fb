package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// report writes the whole history of what went wrong beside the logs: the row, each attempt, and what the providers
// accepted.
func (w *world) report(ctx context.Context, v *verdict) error {
	if len(v.wrong) == 0 {
		return nil
	}
	var text strings.Builder
	for _, one := range v.wrong {
		fmt.Fprintf(&text, "== %s\n", one.words)
		for _, query := range []string{
			`SELECT to_jsonb(l) - 'event' - 'recipient_full' FROM push_log l WHERE id = $1`,
			`SELECT to_jsonb(t) FROM push_timeline t WHERE delivery_id = $1 ORDER BY attempt`,
		} {
			rows, err := w.log.Query(ctx, query, one.row.id)
			if err != nil {
				return fmt.Errorf("reading what went wrong: %w", err)
			}
			for rows.Next() {
				var line json.RawMessage
				if err := rows.Scan(&line); err != nil {
					return fmt.Errorf("reading what went wrong: %w", err)
				}
				fmt.Fprintf(&text, "%s\n", line)
			}
		}
		reference := one.identity().Reference(1)
		for _, e := range w.sandbox.Journal().Entries() {
			if e.Reference == reference {
				fmt.Fprintf(&text, "accepted by %s at %s as %s\n", e.Provider, e.Time.UTC().Format("15:04:05.000"), e.MessageID)
			}
		}
	}
	return os.WriteFile(filepath.Join(w.dir, "wrong.txt"), []byte(text.String()), 0o600)
}

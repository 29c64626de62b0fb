package main

import (
	"fmt"
	"strings"
	"time"

	"pusher/internal/cli"
	"pusher/internal/push"
)

// receipt is a provider's later word in JSON.
type receipt struct {
	Provider      string      `json:"provider"`
	Says          push.Report `json:"says"`
	ProviderMsgID string      `json:"provider_msg_id,omitempty"`
	Code          string      `json:"code,omitempty"`
	Message       string      `json:"message,omitempty"`
	Effect        push.Effect `json:"effect"`  // what it did to the delivery
	Repeats       int         `json:"repeats"` // how often the same word came again
	ReceivedAt    time.Time   `json:"received_at"`
	ReportedAt    time.Time   `json:"reported_at,omitzero"` // by the provider's clock
	MatchedAt     time.Time   `json:"matched_at"`
}

// receiptsOf makes the JSON of receipts: [] and not null when there is none.
func receiptsOf(list []push.Heard) []receipt {
	views := make([]receipt, len(list))
	for i, r := range list {
		views[i] = receipt{
			Provider: r.Provider, Says: r.Report, ProviderMsgID: r.MessageID, Code: r.Code, Message: r.Message,
			Effect: r.Effect, Repeats: r.Repeats, ReceivedAt: r.ReceivedAt.UTC(), ReportedAt: utc(r.ReportedAt),
			MatchedAt: r.MatchedAt.UTC(),
		}
	}
	return views
}

// printReceipts writes what providers said later, as a table; nothing where they said nothing.
func (s story) printReceipts(w *cli.World) error {
	if len(s.Receipts) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(w.Stdout)
	return table(w.Stdout, "RECEIPT\tPROVIDER\tSAYS\tCODE\tEFFECT\tREPEATED\tWORDS", func(line func(...any)) {
		for _, r := range s.Receipts {
			effect := strings.ReplaceAll(string(r.Effect), "_", " ")
			line(clock(r.ReceivedAt), r.Provider, r.Says, orDash(r.Code), effect, r.Repeats, orDash(r.Message))
		}
	})
}

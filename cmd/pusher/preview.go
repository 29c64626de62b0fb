package main

import (
	"encoding/json"
	"fmt"

	"pusher/internal/assemble"
	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
)

// shown is a message of `pusher send --preview` in JSON: a request, or why there is none.
type shown struct {
	BizType  string          `json:"biz_type"`
	BizID    string          `json:"biz_id"`
	Action   push.Action     `json:"action"`
	Provider string          `json:"provider,omitempty"`
	Request  json.RawMessage `json:"request,omitempty"` // as it would go over the wire, its recipient masked
	Skipped  string          `json:"skipped,omitempty"`
	Refused  *refused        `json:"refused,omitempty"`
}

// refused says why a message can never go.
type refused struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// preview writes what each channel would say about the records, a line a message, and sends nothing. A message that
// can never go makes it fail.
func preview(w *cli.World, c *config.Config, records []push.Record) error {
	previews, err := assemble.NewPreviews(c)
	if err != nil {
		return err
	}
	defer previews.Close()
	out := json.NewEncoder(w.Stdout)
	out.SetEscapeHTML(false)
	var all, bad int
	for _, record := range records {
		event, err := push.Decode(record) // readEvents has decoded it once
		if err != nil {
			return err
		}
		list, err := previews.Event(event, record.Time)
		if err != nil {
			return err
		}
		for _, one := range list {
			all++
			line := shown{
				BizType: event.BizType, BizID: event.BizID,
				Action: one.Action, Provider: one.Provider, Request: one.Request, Skipped: one.Skipped,
			}
			if one.Refused != nil {
				bad++
				line.Refused = &refused{one.Refused.Code, one.Refused.Message}
			}
			if err := out.Encode(line); err != nil {
				return err
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d messages can never be sent as they are", bad, all)
	}
	return nil
}

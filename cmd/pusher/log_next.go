package main

import (
	"fmt"
	"strings"
	"time"

	"pusher/internal/cli"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/store"
)

// next says what will happen to a delivery by itself (docs/contract.md, section 5).
func next(e store.Entry, c *config.Config) string {
	switch e.Status {
	case push.Sending:
		return "an attempt is going out; past its lease another worker or the compensator takes it up"
	case push.Failed, push.Deferred:
		if e.RetriesUsed >= c.Retry.MaxAttempts {
			return "retries are used up: the compensator gives it up and writes a dead letter"
		}
		return "the compensator re-enqueues it after " + e.NextAttemptAt.UTC().Format(time.RFC3339)
	case push.Queued:
		return fmt.Sprintf("the pusher sends attempt %d when it reads the retry topic; the compensator publishes it again until then", e.Attempt)
	case push.Unknown:
		return afterUnknown(e, c)
	case push.Sent:
		return "nothing: the provider took it; a receipt may say more"
	case push.Dead:
		if e.LetterDue {
			return "the compensator writes its dead letter; then nothing by itself"
		}
		return "nothing by itself: it is given up and has a dead letter"
	case push.Delivered, push.Undelivered, push.Expired, push.Skipped:
	}
	return "nothing: it is settled; the same fact is news again after its window"
}

// afterUnknown says who resolves a send whose outcome is not known.
func afterUnknown(e store.Entry, c *config.Config) string {
	held := c.Channels.WeChat.HoldMax
	says := "it is repeated with the same id while WeChat remembers it; then it is held for an operator"
	if e.Action == push.SMS {
		held = c.Channels.SMS.HoldMax
		says = fmt.Sprintf("the provider is asked for %s where it can be; then it is held for an operator", c.Channels.SMS.AskFor)
		if c.Channels.SMS.WhenUnknown == config.Resend {
			return fmt.Sprintf("the provider is asked for %s where it can be; then it is sent again, as a possible duplicate", c.Channels.SMS.AskFor)
		}
	}
	return fmt.Sprintf("%s, and given up after %s", says, held)
}

// print writes the story for a person.
func (s story) print(w *cli.World) error {
	d := s.Delivery
	err := table(w.Stdout, fmt.Sprintf("delivery\t%d", d.ID), func(line func(...any)) {
		line("key", d.Key)
		line("biz_id", d.BizID)
		line("round", d.Round)
		line("status", d.Status)
		line("attempt", fmt.Sprintf("%d (%d retries used)", d.Attempt, d.RetriesUsed))
		line("recipient", orDash(d.Recipient))
		line("provider", orDash(strings.TrimSpace(d.Provider+" "+d.ProviderMsgID)))
		if d.ErrorCode != "" {
			line("error", d.ErrorCode+" "+d.ErrorMessage)
		}
		line("created", d.CreatedAt.Format(time.RFC3339))
		line("origin", fmt.Sprintf("%s/%d@%d, %s", d.Topic, d.Partition, d.Offset, d.RecordTime.Format(time.RFC3339)))
		line("redis", s.Redis)
		line("next", s.Next)
		if len(s.Others) > 0 {
			line("others", fmt.Sprintf("rows %v have this name too", s.Others))
		}
	})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w.Stdout)
	return table(w.Stdout, "ATTEMPT\tSTARTED\tTOOK\tPROVIDER\tOUTCOME\tERROR\tWORKER", func(line func(...any)) {
		for _, a := range s.Attempts {
			line(a.Attempt, clock(a.StartedAt), took(a), orDash(a.Provider), a.Outcome, orDash(a.ErrorCode), orDash(a.Worker))
		}
	})
}

// clock is a time in a table, in UTC as everywhere.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.DateTime)
}

// took is how long an attempt lasted, once it has an end.
func took(a attempt) string {
	if a.StartedAt.IsZero() || a.FinishedAt.IsZero() {
		return "-"
	}
	return a.FinishedAt.Sub(a.StartedAt).Round(time.Millisecond).String()
}

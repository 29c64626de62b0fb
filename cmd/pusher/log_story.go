package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pusher/internal/cli"
)

// print writes the story for a person.
func (s story) print(w *cli.World) error {
	d := s.Delivery
	err := table(w.Stdout, fmt.Sprintf("delivery\t%d, %s of %s %s, round %d", d.ID, d.Action, d.BizType, d.BizID, d.Round), func(line func(...any)) {
		line("status", fmt.Sprintf("%s: %s", d.Status, s.Means))
		if d.ErrorCode != "" {
			line("error", strings.TrimSuffix(d.ErrorCode+": "+d.ErrorMessage, ": "))
		}
		line("next", s.Next)
		line("attempt", fmt.Sprintf("%d (%s used)", d.Attempt, cli.Count(d.RetriesUsed, "retry", "retries")))
		line("recipient", orDash(d.Recipient))
		line("provider", orDash(strings.TrimSpace(d.Provider+" "+d.ProviderMsgID)))
		if s.Route != "" {
			line("route", s.Route)
		}
		if d.Hint != "" {
			line("hint", d.Hint)
		}
		line("reference", s.Reference)
		line("key", d.Key)
		line("redis", s.Redis)
		line("created", clock(d.CreatedAt))
		line("origin", fmt.Sprintf("%s/%d@%d, %s", d.Topic, d.Partition, d.Offset, clock(d.RecordTime)))
		if len(s.Others) > 0 {
			line("others", fmt.Sprintf("rows %v have this name too", s.Others))
		}
	})
	if err != nil {
		return err
	}
	return errors.Join(s.printAttempts(w), s.printReceipts(w), s.printDeeds(w))
}

// printAttempts writes the attempts as a table; a delivery that was put off or ended before its first has none.
func (s story) printAttempts(w *cli.World) error {
	if len(s.Attempts) == 1 && s.Attempts[0].Attempt == 0 {
		_, err := fmt.Fprintln(w.Stdout, "\nno attempt was made")
		return err
	}
	_, _ = fmt.Fprintln(w.Stdout)
	return table(w.Stdout, "ATTEMPT\tSTARTED\tTOOK\tPROVIDER\tOUTCOME\tERROR\tWORKER", func(line func(...any)) {
		for _, a := range s.Attempts {
			line(a.Attempt, clock(a.StartedAt), took(a), orDash(a.Provider), a.Outcome, orDash(a.ErrorCode), orDash(a.Worker))
		}
	})
}

// printDeeds writes what operators did, as a table; nothing where they did nothing.
func (s story) printDeeds(w *cli.World) error {
	if len(s.Actions) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(w.Stdout)
	return table(w.Stdout, "OPERATOR\tWHO\tDID\tWAS\tWHY", func(line func(...any)) {
		for _, a := range s.Actions {
			line(clock(a.At), a.Actor, a.Verb, fmt.Sprintf("%s, attempt %d", a.Was, a.Attempt), a.Reason)
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

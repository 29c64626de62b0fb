package channels

import (
	"fmt"
	"regexp"
	"time"
)

// Beijing is the zone of the providers' days. It needs no time zone database: China keeps one time all year.
func Beijing() *time.Location { return time.FixedZone("Asia/Shanghai", 8*60*60) }

const day = 24 * time.Hour

// wait is how long a limit lasts. The zero wait is none.
type wait struct {
	fixed time.Duration
	until string // "midnight", "month", "text", or a clock time such as "08:00"
}

var clock = regexp.MustCompile(`^[0-2][0-9]:[0-5][0-9]$`)

// parseWait reads a duration (30s), "midnight" or a clock time (08:00), both the next one in Beijing, "month" (the
// first of the next one), or "text": the provider's words say which limit it is.
func parseWait(text string) (wait, error) {
	if text == "midnight" || text == "month" || text == "text" || clock.MatchString(text) {
		return wait{until: text}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return wait{}, fmt.Errorf("wait %q is unknown", text)
	}
	return wait{fixed: d}, nil
}

// from is the wait from now on.
func (w wait) from(now time.Time, message string) time.Duration {
	local := now.In(Beijing())
	midnight := time.Date(local.Year(), local.Month(), local.Day()+1, 0, 0, 0, 0, Beijing())
	switch w.until {
	case "":
		return w.fixed
	case "text":
		return waitInText(message)
	case "midnight":
		return midnight.Sub(now)
	case "month":
		return time.Date(local.Year(), local.Month()+1, 1, 0, 0, 0, 0, Beijing()).Sub(now)
	}
	at, _ := time.Parse("15:04", w.until) // parseWait looked
	next := midnight.Add(-day).Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute)
	if !next.After(now) {
		next = next.Add(day)
	}
	return next.Sub(now)
}

var (
	minuteLimit = regexp.MustCompile(`(?i)分钟|minute`)
	hourLimit   = regexp.MustCompile(`(?i)小时|hour`)
	dayLimit    = regexp.MustCompile(`(?i)天级|天流控|日级|day|daily|月|month`)
)

// waitInText finds the limit that a message names. Words that name none make it an hour: long enough not to annoy,
// short enough not to lose a day.
func waitInText(message string) time.Duration {
	switch {
	case minuteLimit.MatchString(message):
		return time.Minute
	case dayLimit.MatchString(message):
		return day
	case hourLimit.MatchString(message):
		return time.Hour
	}
	return time.Hour
}

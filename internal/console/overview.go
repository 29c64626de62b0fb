package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"time"

	"pusher/internal/push"
)

const (
	errorsShown = 10

	// overdue is how long something may wait for the compensator before a tile says so: cron runs it each minute.
	overdue = 5 * time.Minute
)

// tile is one figure of what stands now.
type tile struct {
	Name  string
	Count string
	More  string
	Tone  string // bad, hold, or none
	Link  string
}

// errorLine is an error with how often it is a delivery's last.
type errorLine struct {
	Code     string
	Action   push.Action
	Provider string
	Count    int64
	Link     string
}

// summary is the first page.
type summary struct {
	Tiles  []tile
	Ranges []choice
	Charts []chart
	Errors []errorLine
}

// overview is the first page: what stands now, and how the channels did.
func (c *Console) overview(w http.ResponseWriter, r *http.Request, v *visit) error {
	chosen := r.URL.Query().Get("range")
	if chosen != "7d" {
		chosen = "24h"
	}
	first := v.now.Truncate(time.Hour).Add(time.Hour - spanOf(chosen))
	f, err := c.figures.of(r.Context(), v, first)
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "overview", v, summary{
		Tiles: v.tiles(f.waiting), Ranges: choices([]string{"24h", "7d"}, chosen), Charts: v.charts(f.hours, first),
		Errors: v.errors(f.counts),
	})
}

// tiles are what waits or is in doubt, each leading to its list.
func (v *visit) tiles(w push.Waiting) []tile {
	list := func(statuses ...push.Status) string {
		return listPath(queryOf(push.Filter{Statuses: statuses}, v.zone))
	}
	oldest := func(n int, age time.Duration) string {
		if n == 0 {
			return v.T("now.none")
		}
		return v.T("now.oldest", v.Span(age))
	}
	tone := func(is bool, name string) string {
		if is {
			return name
		}
		return ""
	}
	due := oldest(w.Due, w.OldestDue)
	if w.Later > 0 {
		due += " · " + v.T("now.later", v.Num(int64(w.Later)))
	}
	return []tile{
		{"unknown", v.Num(int64(w.Unknown)), oldest(w.Unknown, w.OldestUnknown), tone(w.Unknown > 0, "hold"), list(push.Unknown)},
		{"dead", v.Num(int64(w.Dead)), v.T("now.day"), tone(w.Dead > 0, "bad"), list(push.Dead)},
		{"due", v.Num(int64(w.Due)), due, tone(w.OldestDue > overdue, "hold"), list(push.Failed, push.Deferred)},
		{"queued", v.Num(int64(w.Queued)), oldest(w.Queued, w.OldestQueued), tone(w.OldestQueued > overdue, "hold"), list(push.Queued)},
		{"sending", v.Num(int64(w.Sending)), oldest(w.Sending, w.OldestSending), tone(w.OldestSending > overdue, "hold"), list(push.Sending)},
		{"pace", v.pace(w.SentAMinute), v.T("now.minute"), "", listPath(queryOf(push.Filter{Statuses: []push.Status{push.Sent}}, v.zone))},
	}
}

// pace is how many are sent a minute, over all channels.
func (v *visit) pace(by map[push.Action]float64) string {
	sum := 0.0
	for _, n := range by {
		sum += n
	}
	if sum > 0 && sum < 10 {
		return v.T("now.pace", sum)
	}
	return v.Num(int64(math.Round(sum)))
}

// wentOut reports whether the provider took it.
func wentOut(s push.Status) bool {
	return s == push.Sent || s == push.Delivered || s == push.Undelivered
}

// wentWrong reports whether it is not where it should be.
func wentWrong(s push.Status) bool {
	return s == push.Failed || s == push.Unknown || s == push.Dead || s == push.Undelivered
}

// charts are sends, failures and latency, by the hour from first on.
func (v *visit) charts(counted []push.Hour, first time.Time) []chart {
	var hours []time.Time
	for h := first; !h.After(v.now); h = h.Add(time.Hour) {
		hours = append(hours, h)
	}
	count := func(n float64) string { return v.Num(int64(math.Round(n))) }
	span := func(s float64) string { return v.Span(time.Duration(s * float64(time.Second))) }
	sends, failures, latency := newGather(hours), newGather(hours), newGather(hours)
	for _, h := range counted {
		channel := v.Word("action", string(h.Action))
		by := channel
		if h.Provider != "" && h.Action == push.SMS {
			by += " · " + v.Word("provider", h.Provider)
		}
		if wentOut(h.Status) {
			sends.add(by, h)
			latency.add(by, h)
		}
		if wentWrong(h.Status) {
			failures.add(by, h)
		}
	}
	return []chart{
		v.draw(drawing{v.T("chart.sends"), hours, sends.counts(count), true, count}),
		v.draw(drawing{v.T("chart.failures"), hours, failures.counts(count), true, count}),
		v.draw(drawing{v.T("chart.latency"), hours, latency.quantiles(.95, span), false, span}),
	}
}

// errors are the codes that are most often a delivery's last.
func (v *visit) errors(counts []push.Count) []errorLine {
	type of struct {
		code, provider string
		action         push.Action
	}
	sums := map[of]int64{}
	for _, n := range counts {
		if n.ErrorCode != "" {
			sums[of{n.ErrorCode, n.Provider, n.Action}] += n.Count
		}
	}
	lines := make([]errorLine, 0, len(sums))
	for o, n := range sums {
		f := push.Filter{Identity: push.Identity{Action: o.action}, ErrorCode: o.code, Provider: o.provider}
		lines = append(lines, errorLine{o.code, o.action, o.provider, n, listPath(queryOf(f, v.zone))})
	}
	slices.SortFunc(lines, func(a, b errorLine) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Action, b.Action),
			cmp.Compare(a.Provider, b.Provider))
	})
	return lines[:min(len(lines), errorsShown)]
}

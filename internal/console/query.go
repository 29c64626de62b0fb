package console

import (
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pusher/internal/push"
)

// clockForm is how a browser writes a date and a time of day.
const clockForm = "2006-01-02T15:04"

// spans are the names of how far back a list goes.
func spans() []string { return []string{"15m", "1h", "6h", "24h", "7d"} }

// spanOf is how long a name of spans is; 0 for any other.
func spanOf(name string) time.Duration {
	return map[string]time.Duration{
		"15m": 15 * time.Minute, "1h": time.Hour, "6h": 6 * time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour,
	}[name]
}

// filterOf reads a filter from a page's address. What makes no sense does not restrict.
func filterOf(q url.Values, zone *time.Location, now time.Time) push.Filter {
	f := push.Filter{
		Identity: push.Identity{
			BizType: word(q, "type"), RuleVersion: word(q, "version"), DedupID: word(q, "dedup_id"),
			Action: push.Action(word(q, "action")),
		},
		BizID: word(q, "biz_id"), UserID: word(q, "user"), Recipient: word(q, "recipient"), Provider: word(q, "provider"),
		ErrorCode: word(q, "error"), From: clockOf(q, "from", zone), To: clockOf(q, "until", zone),
	}
	for _, name := range q["status"] {
		if s := push.Status(name); slices.Contains(push.Statuses(), s) && !slices.Contains(f.Statuses, s) {
			f.Statuses = append(f.Statuses, s)
		}
	}
	for _, text := range q["id"] {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 {
			f.IDs = append(f.IDs, id)
		}
	}
	if hash, err := hex.DecodeString(word(q, "to")); err == nil && len(hash) > 0 {
		f.RecipientHash = hash
	}
	if span := spanOf(word(q, "since")); span > 0 && f.From.IsZero() {
		f.From = now.Add(-span)
	}
	return f
}

// queryOf writes a filter as filterOf reads it.
func queryOf(f push.Filter, zone *time.Location) url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("type", f.BizType)
	set("version", f.RuleVersion)
	set("dedup_id", f.DedupID)
	set("action", string(f.Action))
	set("biz_id", f.BizID)
	set("user", f.UserID)
	set("to", hex.EncodeToString(f.RecipientHash))
	set("recipient", f.Recipient)
	set("provider", f.Provider)
	set("error", f.ErrorCode)
	for _, s := range f.Statuses {
		q.Add("status", string(s))
	}
	for _, id := range f.IDs {
		q.Add("id", strconv.FormatInt(id, 10))
	}
	if !f.From.IsZero() {
		q.Set("from", f.From.In(zone).Format(clockForm))
	}
	if !f.To.IsZero() {
		q.Set("until", f.To.In(zone).Format(clockForm))
	}
	return q
}

// word is a value without the space around it.
func word(q url.Values, name string) string { return strings.TrimSpace(q.Get(name)) }

func clockOf(q url.Values, name string, zone *time.Location) time.Time {
	t, err := time.ParseInLocation(clockForm, word(q, name), zone)
	if err != nil {
		return time.Time{}
	}
	return t
}

// listPath is the list of a filter's deliveries.
func listPath(q url.Values) string { return strings.TrimSuffix(root+"deliveries?"+q.Encode(), "?") }

// showPath is a delivery's page.
func showPath(id int64) string { return root + "deliveries/" + strconv.FormatInt(id, 10) }

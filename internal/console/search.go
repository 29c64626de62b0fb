package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"pusher/internal/push"
)

// foundMost is how many deliveries of a kind the search shows at once.
const foundMost = 10

// found is what a search found by one reading of its text.
type found struct {
	By      string // key, id, biz_id, user or recipient
	Entries []push.Entry
	More    bool
	Link    string // to all of them
}

// results is the search's page.
type results struct {
	Shown  string // what was looked for; of a phone or an openid no more than rows show
	Groups []found
}

// search reads its text in every way that it can be meant: a dedup key, a row id, a business id, a user, a phone, an
// openid. A single delivery, or a single way, is shown at once. The text comes in a form's body and no address ever
// holds it: it may be a phone.
func (c *Console) search(w http.ResponseWriter, r *http.Request, v *visit) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	text := strings.TrimSpace(r.PostFormValue("q"))
	if text == "" {
		http.Redirect(w, r, root+"deliveries", http.StatusSeeOther)
		return nil
	}
	groups, err := v.find(r.Context(), text)
	if err != nil {
		return err
	}
	if to := only(groups); to != "" {
		http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // a path of ours, its query encoded
		return nil
	}
	return c.render(w, http.StatusOK, "search", v, results{Shown: discreet(text), Groups: groups})
}

// discreet is a search as a page may repeat it: what may be a phone or an openid is masked.
func discreet(text string) string {
	const phone, openid = 8, 20 // digits and characters that they have at least
	digits := strings.Count(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '0'
		}
		return '-'
	}, text), "0")
	if digits >= phone || len(text) >= openid {
		return push.Mask(text)
	}
	return text
}

// find looks by each reading that finds something.
func (v *visit) find(ctx context.Context, text string) ([]found, error) {
	var groups []found
	for _, reading := range v.readings(text) {
		page, err := v.from.Log.List(ctx, reading.filter, 0, foundMost)
		if err != nil {
			return nil, err
		}
		if len(page.Entries) > 0 {
			groups = append(groups, found{
				By: reading.by, Entries: page.Entries, More: page.Next > 0, Link: listPath(queryOf(reading.filter, v.zone)),
			})
		}
	}
	return groups, nil
}

// reading is one way to understand a search.
type reading struct {
	by     string
	filter push.Filter
}

// readings are the ways to understand a text; each is served by an index.
func (v *visit) readings(text string) []reading {
	if id, err := push.ParseKey(text); err == nil {
		return []reading{{"key", push.Filter{Identity: id}}}
	}
	var all []reading
	if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 {
		all = append(all, reading{"id", push.Filter{IDs: []int64{id}}})
	}
	all = append(all, reading{"biz_id", push.Filter{BizID: text}}, reading{"user", push.Filter{UserID: text}})
	if f := v.from.Desk.Recipient(push.Filter{}, text); f.RecipientHash != nil { // a masked one is served by none
		all = append(all, reading{"recipient", f})
	}
	return all
}

// only is where a search leads that leaves no choice; empty when it does.
func only(groups []found) string {
	ids := map[int64]bool{}
	for _, g := range groups {
		for _, e := range g.Entries {
			ids[e.ID] = true
		}
	}
	switch {
	case len(ids) == 1:
		return showPath(groups[0].Entries[0].ID)
	case len(groups) == 1:
		return groups[0].Link
	}
	return ""
}

package console

import (
	"context"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"pusher/internal/push"
)

const (
	listed  = 50                    // a screenful
	lookFor = 50 * time.Millisecond // in further steps, for a filter that no index serves: then the page goes on by itself
)

// choice is one of several in a form.
type choice struct {
	Name   string
	Chosen bool
}

// choices marks the chosen of names.
func choices[T ~string](names []T, chosen ...T) []choice {
	list := make([]choice, len(names))
	for i, name := range names {
		list[i] = choice{string(name), slices.Contains(chosen, name)}
	}
	return list
}

// listing is the list's page.
type listing struct {
	Filter      push.Filter
	Query       string // the filter as a page's address has it, the time in full: for a dry run
	From, Until string // of the form
	Hash        string // of the recipient

	Statuses, Actions, Providers, Spans []choice

	Entries []push.Entry
	First   string // the page of the newest; empty on it
	Next    string // the page of older ones; empty on the last
	Live    bool   // it is the newest: changes are worth a look
	Verbs   []push.Verb
}

// With is the same page with other data, for the parts that pages share.
func (s shown) With(data any) shown {
	s.D = data
	return s
}

// providers that a filter may name.
func providers() []string { return []string{"inbox", "aliyun", "tencent", "wechat"} }

// deliveries is the list: newest first, by filter, a screenful a page.
func (c *Console) deliveries(w http.ResponseWriter, r *http.Request, v *visit) error {
	query := r.URL.Query()
	f := filterOf(query, v.zone, v.now)
	before, _ := strconv.ParseInt(query.Get("before"), 10, 64)
	page, err := c.pageOf(r.Context(), v, f, max(before, 0))
	if err != nil {
		return err
	}
	since := query.Get("since")
	l := listing{
		Filter: f, Query: queryOf(f, v.zone).Encode(), Hash: hex.EncodeToString(f.RecipientHash),
		From: query.Get("from"), Until: query.Get("until"),
		Statuses: choices(push.Statuses(), f.Statuses...), Actions: choices(push.Actions(), f.Action),
		Providers: choices(providers(), f.Provider), Spans: choices(spans(), since),
		Entries: page.Entries, Live: before <= 0, Verbs: push.Verbs(),
	}
	if before > 0 {
		l.First = listPath(without(query, "before"))
	}
	if page.Next > 0 {
		older := without(query, "before")
		older.Set("before", strconv.FormatInt(page.Next, 10))
		l.Next = listPath(older)
	}
	return c.render(w, http.StatusOK, "deliveries", v, l)
}

// pageOf reads a screenful. A filter that no index serves is read in steps, until there is something to show or it has
// taken long enough; Next then says from where to go on.
func (c *Console) pageOf(ctx context.Context, v *visit, f push.Filter, before int64) (push.Page, error) {
	for began := c.cfg.Now(); ; {
		page, err := v.from.Log.List(ctx, f, before, listed)
		if err != nil || len(page.Entries) > 0 || page.Next == 0 || c.cfg.Now().Sub(began) > lookFor {
			return page, err
		}
		before = page.Next
	}
}

// without is q less one name, and less the names without value.
func without(q url.Values, name string) url.Values {
	q = maps.Clone(q)
	delete(q, name)
	maps.DeleteFunc(q, func(_ string, values []string) bool { return slices.Equal(values, []string{""}) })
	return q
}

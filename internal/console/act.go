package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pusher/internal/operate"
	"pusher/internal/push"
)

// figure is one count of a dry run.
type figure struct {
	Name string
	N    int64
	Tone string
}

// why is a reason with the number of deliveries that have it.
type why struct {
	Text string
	N    int64
}

// planned is the dry run's page.
type planned struct {
	Verb      push.Verb
	Filter    string // in words, as the audit has it
	Query     string // the same, to plan anew when it is confirmed
	Digest    string // what was shown
	Counts    []figure
	Reasons   []why
	Sample    []operate.Judged
	Truncated bool
	Changes   int64
	MayDouble bool
	Back      string
	Reason    string // as typed before
	Moved     bool   // what was confirmed is not what would be done now
}

// plan shows what a verb would do, and asks why.
func (c *Console) plan(w http.ResponseWriter, r *http.Request, v *visit) error {
	p, query, err := c.planOf(r, v)
	if err != nil {
		return err
	}
	return c.render(w, http.StatusOK, "plan", v, v.planPage(p, query))
}

// planOf makes the plan that a form asks for.
func (c *Console) planOf(r *http.Request, v *visit) (*operate.Plan, url.Values, error) {
	verb := push.Verb(r.PostFormValue("verb"))
	query, err := url.ParseQuery(r.PostFormValue("filter"))
	if err != nil || !slices.Contains(push.Verbs(), verb) {
		return nil, nil, errNoPage
	}
	p, err := v.from.Desk.Plan(r.Context(), verb, filterOf(query, v.zone, v.now))
	return p, query, err
}

// apply does what was shown, and nothing else: the plan is made anew, and where it differs it is shown anew.
func (c *Console) apply(w http.ResponseWriter, r *http.Request, v *visit) error {
	p, query, err := c.planOf(r, v)
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(strings.ToValidUTF8(r.PostFormValue("reason"), ""))
	if reason == "" || p.Digest() != r.PostFormValue("digest") {
		shown := v.planPage(p, query)
		shown.Reason, shown.Moved = reason, reason != ""
		return c.render(w, http.StatusConflict, "plan", v, shown)
	}
	out, err := v.from.Desk.Apply(r.Context(), p, operate.Actor{Name: v.Session.Who, Role: string(v.Session.Role)}, reason)
	c.cfg.Log.Info().Err(err).Str("who", v.Session.Who).Str("verb", string(p.Verb)).Int64("act", out.ActionID).
		Int("changed", out.Changed).Msg("console: acted")
	if err != nil {
		return err
	}
	to := root + "applied?" + url.Values{
		"changed": {strconv.Itoa(out.Changed)}, "queued": {strconv.Itoa(out.Queued)}, "passed": {strconv.Itoa(out.Passed)},
		"published": {strconv.Itoa(out.Published)}, "filter": {query.Encode()},
	}.Encode()
	http.Redirect(w, r, to, http.StatusSeeOther) // a page that may be loaded again
	return nil
}

// applied says what was done.
func (c *Console) applied(w http.ResponseWriter, r *http.Request, v *visit) error {
	q := r.URL.Query()
	count := func(name string) int64 { n, _ := strconv.ParseInt(q.Get(name), 10, 64); return n }
	filter, _ := url.ParseQuery(q.Get("filter"))
	return c.render(w, http.StatusOK, "applied", v, map[string]any{
		"Changed": count("changed"), "Queued": count("queued"), "Passed": count("passed"),
		"Later": count("published") < count("queued"), "Back": backTo(filter),
	})
}

// planPage is a plan as a page.
func (v *visit) planPage(p *operate.Plan, query url.Values) planned {
	n := p.Counts
	page := planned{
		Verb: p.Verb, Filter: p.Filter.String(), Query: query.Encode(), Digest: p.Digest(), Sample: slices.Clone(p.Sample),
		Truncated: p.Truncated, Changes: int64(p.Changes()), MayDouble: n.MayDouble > 0, Back: backTo(query),
		Counts: []figure{
			{"matching", int64(n.Matching), ""}, {"would_send", int64(n.WouldSend), "go"},
			{"would_settle", int64(n.WouldSettle), "go"}, {"held_back", int64(n.HeldBack), "hold"},
			{"expired", int64(n.Expired), ""}, {"not_allowed", int64(n.NotAllowed), ""},
			{"may_double", int64(n.MayDouble), "bad"},
		},
	}
	for i := range page.Sample {
		page.Sample[i].Reason = v.foreign(page.Sample[i].Reason)
	}
	for text, n := range p.Reasons {
		page.Reasons = append(page.Reasons, why{v.foreign(text), int64(n)})
	}
	slices.SortFunc(page.Reasons, func(a, b why) int {
		if a.N != b.N {
			return int(b.N - a.N)
		}
		return strings.Compare(a.Text, b.Text)
	})
	return page
}

// backTo is where a plan was asked for: a delivery's page, or a list.
func backTo(query url.Values) string {
	if ids := query["id"]; len(ids) == 1 {
		if id, err := strconv.ParseInt(ids[0], 10, 64); err == nil {
			return showPath(id)
		}
	}
	return listPath(query)
}

// actionsListed is a page of the audit.
const actionsListed = 100

// actions is what operators did.
func (c *Console) actions(w http.ResponseWriter, r *http.Request, v *visit) error {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64)
	list, err := v.from.Log.Actions(r.Context(), max(before, 0), actionsListed)
	if err != nil {
		return err
	}
	next := ""
	if len(list) == actionsListed {
		next = root + "actions?before=" + strconv.FormatInt(list[len(list)-1].ID, 10)
	}
	return c.render(w, http.StatusOK, "actions", v, map[string]any{"List": list, "Next": next})
}

package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"pusher/internal/operate"
	"pusher/internal/push"
)

// happening is one point of a delivery's timeline.
type happening struct {
	At    stamp
	Kind  string // record, attempt, receipt, act, wait: its sign
	Tone  string // good, bad, hold or none: its colour
	Title string
	Code  string
	More  string
	Words string // of a provider or an operator

	at time.Time
}

// fact is a line of what is known.
type fact struct {
	Name string
	Text string
	At   *stamp
	Mono bool
	Link string
}

// told is a delivery's page.
type told struct {
	push.Entry

	Means, Next string
	Verbs       []push.Verb // that the reader may use on it
	Events      []happening
	Facts       []fact
	Event       string
}

// delivery is one delivery explained.
func (c *Console) delivery(w http.ResponseWriter, r *http.Request, v *visit) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return errNoPage
	}
	story, err := v.from.Desk.Explain(r.Context(), id)
	if err != nil {
		return err
	}
	event, err := v.from.Log.Event(r.Context(), id)
	if err != nil {
		return err
	}
	t := told{
		Entry: story.Entry, Means: v.sentence(story.Says), Next: v.sentence(story.Follows), Events: v.timeline(story), Facts: v.facts(story),
		Event: indented(event),
	}
	if v.MayAct() {
		t.Verbs = verbsFor(story.Entry)
	}
	return c.render(w, http.StatusOK, "delivery", v, t)
}

// indented is a JSON text over several lines, every value as it is written; what is no JSON stays as it is.
func indented(text string) string {
	var lines bytes.Buffer
	if json.Indent(&lines, []byte(text), "", "  ") != nil {
		return text
	}
	return lines.String()
}

// verbsFor are the verbs that make sense for a delivery; the dry run has the last word.
func verbsFor(e push.Entry) []push.Verb {
	switch {
	case e.Status == push.Unknown:
		return []push.Verb{push.ResolveSent, push.ResolveNotSent, push.ResolveResend}
	case e.Status == push.Dead && e.InDoubt():
		return []push.Verb{push.ResolveNotSent, push.ResolveResend}
	case e.Status == push.Dead, e.Status == push.Failed:
		return []push.Verb{push.Requeue}
	}
	return nil
}

// timeline is everything that happened to a delivery, in its order.
func (v *visit) timeline(s operate.Story) []happening {
	list := []happening{{
		at: s.Origin.Time, Kind: "record", Title: v.T("did.record"),
		More: fmt.Sprintf("%s/%d @%d", s.Origin.Topic, s.Origin.Partition, s.Origin.Offset),
	}}
	for _, a := range s.Attempts {
		list = append(list, v.attempt(a)...)
	}
	for _, h := range s.Receipts {
		list = append(list, happening{
			at: h.ReceivedAt, Kind: "receipt", Tone: toneOf(push.Status(h.Report)), Code: h.Code, Words: h.Message,
			Title: v.T("did.receipt", v.Word("provider", h.Provider), v.Word("status", string(h.Report))),
			More:  v.Word("effect", string(h.Effect)),
		})
	}
	for _, d := range s.Actions {
		list = append(list, happening{
			at: d.BegunAt, Kind: "act", Title: v.Word("verb", d.Verb), Words: d.Reason,
			More: v.T("did.act", d.Actor, v.Word("status", string(d.Was))),
		})
	}
	switch {
	case !s.NextAttemptAt.IsZero():
		list = append(list, happening{at: s.NextAttemptAt, Kind: "wait", Title: v.T("did.due"), More: v.Since(s.NextAttemptAt)})
	case s.Status == push.Expired || s.Status == push.Skipped:
		list = append(list, happening{at: s.SettledAt, Kind: "end", Title: v.Word("status", string(s.Status)), Code: s.ErrorCode})
	}
	slices.SortStableFunc(list, func(a, b happening) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	for i := range list {
		list[i].At = v.At(list[i].at)
	}
	return list
}

// attempt is an attempt as one point, or none while it has not begun.
func (v *visit) attempt(a push.Attempt) []happening {
	if a.StartedAt.IsZero() {
		return nil
	}
	title := v.T("did.attempt", a.Attempt, v.Word("outcome", a.Outcome))
	if a.Provider != "" {
		title = v.T("did.attempt.by", a.Attempt, v.Word("provider", a.Provider), v.Word("outcome", a.Outcome))
	}
	more := a.Worker
	if !a.FinishedAt.IsZero() {
		more = v.T("did.took", v.Span(a.FinishedAt.Sub(a.StartedAt))) + " · " + more
	}
	tone := map[string]string{"accepted": "good", "permanent": "bad", "account": "bad", "ambiguous": "hold", "lost": "hold"}[a.Outcome]
	return []happening{{at: a.StartedAt, Kind: "attempt", Tone: tone, Title: title, Code: a.ErrorCode, More: more, Words: a.ErrorMessage}}
}

// toneOf is the colour of a status.
func toneOf(s push.Status) string {
	switch s {
	case push.Sent, push.Delivered:
		return "good"
	case push.Dead, push.Undelivered:
		return "bad"
	case push.Unknown:
		return "hold"
	case push.Sending, push.Queued, push.Deferred, push.Failed, push.Expired, push.Skipped:
	}
	return ""
}

// facts is what is known of a delivery, without what is empty.
func (v *visit) facts(s operate.Story) []fact {
	text := func(name, value string) fact { return fact{Name: name, Text: value} }
	mono := func(name, value string) fact { return fact{Name: name, Text: value, Mono: true} }
	at := func(name string, t time.Time) fact {
		if t.IsZero() {
			return fact{}
		}
		stamp := v.At(t)
		return fact{Name: name, At: &stamp, Text: v.Since(t)}
	}
	user := mono("user", s.UserID)
	user.Link = listPath(queryOf(push.Filter{UserID: s.UserID}, v.zone))
	all := []fact{
		mono("recipient", s.Recipient), user, text("provider", v.Word("provider", s.Provider)),
		mono("message", s.ProviderMsgID), text("retries", strconv.Itoa(s.RetriesUsed)), mono("reference", s.Reference),
		mono("key", s.Key()), text("redis", v.key(s)), mono("event_id", s.EventID), mono("trace", s.TraceID),
		at("created", s.CreatedAt), at("changed", s.UpdatedAt), at("sent", s.SentAt), at("settled", s.SettledAt),
		at("lease", s.LeaseUntil), at("doubt", s.AmbiguousSince), at("due", s.NextAttemptAt), at("expires", s.ExpiresAt),
		mono("origin", fmt.Sprintf("%s/%d @%d", s.Origin.Topic, s.Origin.Partition, s.Origin.Offset)),
	}
	if s.Route != "" {
		all = append(all, text("route", v.sentence(s.Went)))
	}
	all = append(all, text("hint", s.Hint))
	if s.PossibleDuplicate {
		all = append(all, text("double", v.T("fact.double.yes")))
	}
	for _, id := range s.Others {
		all = append(all, fact{Name: "other", Text: strconv.FormatInt(id, 10), Link: showPath(id)})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" && f.At == nil })
}

// sentence says a phrase in the reader's language and by the reader's clock.
func (v *visit) sentence(p operate.Phrase) string {
	return p.In(v.foreign, func(t time.Time) string {
		if t.IsZero() {
			return "?"
		}
		return v.At(t).Text + " (" + v.Since(t) + ")"
	})
}

// key says what Redis holds.
func (v *visit) key(s operate.Story) string {
	k := s.RedisKey
	switch {
	case k == nil:
		return s.Redis // why it could not be read
	case k.Foreign:
		return v.T("key.foreign")
	case k.State == push.KeyAbsent:
		return v.T("key.absent")
	case k.State == push.KeyProcessing && k.LeaseLeft > 0:
		return v.T("key.processing", v.Span(k.LeaseLeft))
	case k.State == push.KeyProcessing:
		return v.T("key.over")
	}
	return v.T("key.settled", v.T("key."+k.State.String()), k.Attempt, v.Span(k.TTL))
}

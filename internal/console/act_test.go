package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pusher/internal/push"
)

// dryRun asks for a plan and gives the form that confirms it.
func dryRun(t *testing.T, v *visitor, verb push.Verb, filter string) (page answer, confirm url.Values) {
	t.Helper()
	page = v.post("/console/plan", url.Values{"token": {v.token()}, "verb": {string(verb)}, "filter": {filter}})
	if page.code != http.StatusOK {
		t.Fatalf("planning: %d", page.code)
	}
	return page, url.Values{
		"token": {page.field("token")}, "verb": {string(verb)}, "filter": {page.field("filter")}, "digest": {page.field("digest")},
		"reason": {"template mended"},
	}
}

func TestDryRunChangesNothingAndCounts(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	cases := map[string]struct {
		verb   push.Verb
		filter string
		sees   []string
	}{
		"one unknown":       {push.ResolveNotSent, "id=10248", []string{`id="count-would_send"><dt>Would send</dt><dd>1<`, "It was not sent"}},
		"resent":            {push.ResolveResend, "id=10248", []string{`id="count-may_double"><dt>May double</dt><dd>1<`, "may get the message twice", "danger"}},
		"settled":           {push.ResolveSent, "id=10248", []string{`id="count-would_settle"><dt>Would settle</dt><dd>1<`}},
		"not for it":        {push.Requeue, "id=10248", []string{`id="count-not_allowed"><dt>Not for these</dt><dd>1<`, "say what became of it", "Nothing would change"}},
		"all that are dead": {push.Requeue, "status=dead", []string{`id="count-matching"><dt>Match</dt><dd>1<`, "isv.SMS_TEMPLATE_ILLEGAL", "status=dead"}},
	}
	for name, tc := range cases {
		page, _ := dryRun(t, v, tc.verb, tc.filter)
		page.sees(t, tc.sees...)
		if t.Failed() {
			t.Fatalf("%s: %s", name, page.body)
		}
	}
	if e := h.memory.get(unknownOne); e.Status != push.Unknown || len(h.memory.deeds) != 0 {
		t.Errorf("a dry run changed %+v", e)
	}
}

func TestConfirmedPlanIsDoneAndKeptWithWhoAndWhy(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	_, confirm := dryRun(t, v, push.ResolveNotSent, "id=10248")
	done := v.post("/console/apply", confirm)
	if done.code != http.StatusSeeOther || !strings.HasPrefix(done.header.Get("Location"), "/console/applied?") {
		t.Fatalf("got %d %s", done.code, done.body)
	}
	v.get(done.header.Get("Location")).sees(t, `<dd id="changed">1<`, `href="/console/deliveries/10248"`)
	if e := h.memory.get(unknownOne); e.Status != push.Queued || e.Attempt != 3 {
		t.Errorf("got %+v", e)
	}
	v.get("/console/actions").sees(t, "Li Wei", "operator", "It was not sent", "template mended", "id=10248")
	v.get("/console/deliveries/10248").sees(t, "by Li Wei; it was: unknown", "template mended")
}

func TestOnlyWhatWasShownIsDone(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	_, confirm := dryRun(t, v, push.Requeue, "status=dead")
	another := entry(20000, push.SMS, push.Dead)
	h.memory.put(another) // dies between the dry run and the confirmation
	got := v.post("/console/apply", confirm)
	if got.code != http.StatusConflict || h.memory.get(deadOne).Status != push.Dead || h.memory.get(20000).Status != push.Dead {
		t.Fatalf("got %d, %s", got.code, h.memory.get(deadOne).Status)
	}
	got.sees(t, "have changed since the dry run", `id="count-would_send"><dt>Would send</dt><dd>2<`, `value="template mended"`)
	confirm.Set("digest", got.field("digest"))
	if got := v.post("/console/apply", confirm); got.code != http.StatusSeeOther {
		t.Fatalf("what is shown now: %d", got.code)
	}
	if again := v.post("/console/apply", confirm); again.code != http.StatusConflict {
		t.Errorf("the same form twice: %d", again.code)
	}
}

func TestNothingIsDoneWithoutAReason(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	_, confirm := dryRun(t, v, push.ResolveSent, "id=10248")
	for _, reason := range []string{"", "  ", "\xff"} {
		confirm.Set("reason", reason)
		if got := v.post("/console/apply", confirm); got.code != http.StatusConflict {
			t.Errorf("%q: %d", reason, got.code)
		}
	}
	if h.memory.get(unknownOne).Status != push.Unknown {
		t.Error("it was done")
	}
}

func TestPlanOfNoVerbIsNone(t *testing.T) {
	t.Parallel()
	v := open(t).signedIn(t, operatorToken)
	for _, form := range []url.Values{{"verb": {"delete"}}, {"verb": {"requeue"}, "filter": {"%zz"}}, {}} {
		form.Set("token", v.token())
		if got := v.post("/console/plan", form); got.code != http.StatusNotFound {
			t.Errorf("%v: %d", form, got.code)
		}
	}
}

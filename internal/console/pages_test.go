package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestHostileTextIsShownAsText(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	v.post("/console/search", url.Values{"q": {hostile}})
	plan := v.post("/console/plan", url.Values{"token": {v.token()}, "verb": {"requeue"}, "filter": {"id=10246"}})
	pages := map[string]answer{
		"the list": v.get("/console/deliveries"), "the page": v.get("/console/deliveries/10246"), "the dry run": plan,
		"a filter": v.get("/console/deliveries?" + url.Values{"type": {hostile}, "user": {hostile}, "recipient": {hostile}}.Encode()),
		"a search": v.post("/console/search", url.Values{"q": {hostile}}),
	}
	for name, page := range pages {
		for _, live := range []string{"<script>document", "<img src=x", "<b>&amp;amp;", "\u202e"} {
			if name == "a filter" && live == "\u202e" {
				continue // a field holds what was typed, and keeps its direction to itself
			}
			if strings.Contains(page.body, live) {
				t.Errorf("%s has %q", name, live)
			}
		}
	}
	pages["the page"].sees(t, "&lt;script&gt;document.title", `\u202egnp.exe`)
}

func TestDeliveryTellsItsStory(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	h.memory.receipts[unknownOne] = []push.Heard{{Provider: "aliyun", Report: push.ReportUndelivered, Code: "MK:0001", Message: "no network", Effect: push.EffectOther, ReceivedAt: time.Now()}}
	h.memory.done[unknownOne] = []push.Done{{Deeds: push.Deeds{Actor: "Zhang", Verb: "resolve-resend", Reason: "they called", BegunAt: time.Now()}, Was: push.Unknown}}
	page := h.signedIn(t, operatorToken).get("/console/deliveries/10248")
	page.sees(t, "attempt 2 may have reached the recipient", "is asked until", "held for you", "Attempt 1 by Aliyun: certainly not sent",
		"Attempt 2 by Aliyun: outcome unknown", "MK:0001", "no network", "they called", "by Zhang", "push:dedup:resume_viewed:10248:sms",
		"&#43;86*********42", "push-events/0 @10248", "    &#34;company&#34;: &#34;ACME&#34;", "It was not sent…")
	if strings.Contains(page.body, "13800138042") {
		t.Error("a whole phone is shown")
	}
}

func TestPageThatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	v := open(t).signedIn(t, viewerToken)
	for _, path := range []string{"/console/deliveries/99", "/console/deliveries/x", "/console/deliveries/-1", "/console/deliveries/99999999999999999999", "/console/nowhere"} {
		got := v.get(path)
		if got.code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.code)
		}
		got.sees(t, "There is nothing here")
	}
}

func TestPushLogAwayIsSaidWithoutDetail(t *testing.T) {
	t.Parallel()
	h := open(t)
	v := h.signedIn(t, viewerToken)
	h.memory.mu.Lock()
	h.memory.away = fmt.Errorf("dialing 10.1.2.3:5432: refused")
	h.memory.mu.Unlock()
	for _, path := range []string{"/console/", "/console/deliveries", "/console/actions"} {
		got := v.get(path)
		if got.code != http.StatusServiceUnavailable || strings.Contains(got.body, "10.1.2.3") {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
}

func TestListIsReadPageByPage(t *testing.T) {
	t.Parallel()
	h := open(t)
	for id := range int64(120) {
		h.memory.put(entry(id+1, push.SMS, push.Sent))
	}
	v := h.signedIn(t, viewerToken)
	seen, path := map[string]bool{}, "/console/deliveries?status=sent&action=sms"
	for pages := 0; path != ""; pages++ {
		page := v.get(path)
		if live := strings.Contains(page.body, `hx-trigger="news"`); live != (pages == 0) {
			t.Errorf("page %d is live: %v", pages, live)
		}
		for _, part := range strings.Split(page.body, `data-id="`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			if seen[id] {
				t.Errorf("%s twice", id)
			}
			seen[id] = true
		}
		_, rest, found := strings.Cut(page.body, `<a class="button" href="`)
		if path = ""; found {
			path, _, _ = strings.Cut(rest, `"`)
			path = strings.ReplaceAll(path, "&amp;", "&")
		}
		if pages > 5 {
			t.Fatal("no end")
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d were listed", len(seen))
	}
}

func TestFilterComesBackFromItsAddress(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 18, 7, 0, 0, time.UTC)
	zone := time.FixedZone("CST", 8*3600)
	f := push.Filter{
		Identity: push.Identity{BizType: "a b", RuleVersion: "v2", DedupID: "x:y", Action: push.SMS}, IDs: []int64{3, 4}, BizID: "10248",
		UserID: "u&42", RecipientHash: []byte{1, 0xff}, Recipient: "+86*", Statuses: []push.Status{push.Dead, push.Unknown},
		Provider: "aliyun", ErrorCode: "isv.X", From: now.Add(-time.Hour), To: now,
	}
	if got := filterOf(queryOf(f, zone), zone, now); fmt.Sprint(got) != fmt.Sprint(f) || got.From.Sub(f.From) != 0 || !got.To.Equal(f.To) {
		t.Errorf("got %v", got)
	}
	got := filterOf(url.Values{"since": {"1h"}, "status": {"dead", "nonsense", "dead"}, "id": {"x", "-1", "7"}, "to": {"zz"}, "from": {"never"}}, zone, now)
	if !got.From.Equal(now.Add(-time.Hour)) || len(got.Statuses) != 1 || len(got.IDs) != 1 || got.RecipientHash != nil {
		t.Errorf("got %+v", got)
	}
}

func TestSearchUnderstands(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	twins := entry(1, push.Notify, push.Sent)
	twins.BizID = "10248"
	h.memory.put(twins)
	v := h.signedIn(t, viewerToken)
	cases := map[string]struct{ text, to string }{
		"a key":            {"push:dedup:resume_viewed:10248:sms", "/console/deliveries/10248"},
		"a user":           {"u-42", "/console/deliveries/10248"},
		"a phone":          {"138 0013 8042", "/console/deliveries/10248"},
		"a phone, in full": {"+8613800138042", "/console/deliveries/10248"},
		"a row":            {"10247", "/console/deliveries/10247"},
		"nobody":           {"u-nobody", ""},
		"no key":           {"push:dedup:x", ""},
		"an id of several": {"10248", ""},
	}
	for name, tc := range cases {
		got := v.post("/console/search", url.Values{"q": {tc.text}})
		if got.header.Get("Location") != tc.to {
			t.Errorf("%s: %d to %q", name, got.code, got.header.Get("Location"))
		}
		if strings.Contains(got.header.Get("Location"), "138") || strings.Contains(got.body, "13800138042") {
			t.Errorf("%s: a phone is told", name)
		}
	}
	v.post("/console/search", url.Values{"q": {"10248"}}).sees(t, "By id", "By row number")
	v.post("/console/search", url.Values{"q": {"u-nobody"}}).sees(t, "Nothing found")
}

func TestTimesAreTheReadersWithTheExactOnesBehind(t *testing.T) {
	t.Parallel()
	h := open(t)
	e := entry(7, push.SMS, push.Sent)
	e.UpdatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	h.memory.put(e)
	v := h.signedIn(t, viewerToken)
	cases := map[string][]string{
		"":                   {"2026-01-02 03:04:05", `title="2026-01-02T03:04:05.006Z"`, "UTC"},
		"Asia%2FShanghai":    {"2026-01-02 11:04:05", `title="2026-01-02T11:04:05.006&#43;08:00"`, "Asia/Shanghai, UTC&#43;08:00"},
		"..%2F..%2Fetc":      {"2026-01-02 03:04:05"},
		"Local":              {"2026-01-02 03:04:05"},
		"%3Cscript%3E":       {"2026-01-02 03:04:05"},
		"America%2FNew_York": {"2026-01-01 22:04:05"},
	}
	for zone, want := range cases {
		v.header.Set("Cookie", cookieZone+"="+zone)
		v.get("/console/deliveries/7").sees(t, want...)
	}
}

func TestOverviewShowsWhatWaitsAndLeadsThere(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	for _, path := range []string{"/console/", "/console/?range=7d"} {
		h.signedIn(t, viewerToken).get(path).sees(t, "Outcome unknown", "/console/deliveries?status=unknown", "oldest: 3m 0s",
			"31 later", "Sends", "Failures", "Latency, 95th percentile", "<svg", "isv.SMS_TEMPLATE_ILLEGAL", "error=43004")
	}
}

func TestProgramThatHasNoPushLogYetSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.console.source = func() (Source, error) { return Source{}, fmt.Errorf("not connected yet") }
	v := h.signedIn(t, viewerToken)
	if got := v.get("/console/"); got.code != http.StatusServiceUnavailable {
		t.Errorf("got %d", got.code)
	}
}

func TestEventKeepsItsNumbersAndItsText(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`{"biz_id":9007199254740993,"a":1.10}`: "{\n  \"biz_id\": 9007199254740993,\n  \"a\": 1.10\n}",
		`{"a":"<b>"}`:                          "{\n  \"a\": \"<b>\"\n}", "no json": "no json", "": "",
	}
	for text, want := range cases {
		if got := indented(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestManyReadersAreCountedForAsOne(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now().Truncate(time.Hour)
	h := open(t, func(c *Config) { c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now } })
	v := h.signedIn(t, viewerToken)
	counted := func() int { h.memory.mu.Lock(); defer h.memory.mu.Unlock(); return h.memory.counted }
	for range 5 {
		v.get("/console/")
	}
	if n := counted(); n != 1 {
		t.Errorf("counted %d times for five readers", n)
	}
	v.get("/console/?range=7d")
	mu.Lock()
	now = now.Add(keepFigures)
	mu.Unlock()
	v.get("/console/")
	if n := counted(); n != 3 {
		t.Errorf("counted %d times, want once more for the week, and once more later", n)
	}
}

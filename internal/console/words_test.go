package console

import (
	"io/fs"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pusher/internal/operate"
	"pusher/internal/push"
)

func languages(t *testing.T) tongues {
	t.Helper()
	all, err := newTongues()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBothLanguagesSayTheSame(t *testing.T) {
	t.Parallel()
	all := languages(t)
	en, zh := all.list[0].words, all.list[1].words
	verb := regexp.MustCompile(`%[.0-9]*(\[\d+\])?[a-z]`)
	for name, text := range en {
		if zh[name] == "" || text == "" {
			t.Errorf("%s: %q and %q", name, text, zh[name])
		}
		if a, b := slices.Sorted(slices.Values(verb.FindAllString(text, -1))), slices.Sorted(slices.Values(verb.FindAllString(zh[name], -1))); !slices.Equal(a, b) {
			t.Errorf("%s: %v in English, %v in Chinese", name, a, b)
		}
	}
	for name := range zh {
		if _, ok := en[name]; !ok {
			t.Errorf("%s is in Chinese only", name)
		}
	}
}

// TestEveryWordIsThere: the names that pages and code ask for by themselves, and every family of names that they make.
func TestEveryWordIsThere(t *testing.T) {
	t.Parallel()
	en := languages(t).list[0]
	asked := regexp.MustCompile(`\.T "([^"]+)"|T\("([^"]+)"|say\("([^"]+)"`)
	check := func(text []byte) {
		for _, found := range asked.FindAllSubmatch(text, -1) {
			name := string(slices.Concat(found[1], found[2], found[3]))
			if !strings.HasSuffix(name, ".") && name != "= " && !en.has(name) { // those are put together: see families
				t.Errorf("no word for %s", name)
			}
		}
	}
	for _, files := range []fs.FS{pageFiles, os.DirFS(".")} {
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".html") {
				return err
			}
			text, err := fs.ReadFile(files, path)
			check(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for prefix, names := range families() {
		for _, name := range names {
			if !en.has(prefix + "." + name) {
				t.Errorf("no word for %s.%s", prefix, name)
			}
		}
	}
}

// families are names that are put together.
func families() map[string][]string {
	text := func(list any) (names []string) {
		switch list := list.(type) {
		case []push.Status:
			for _, one := range list {
				names = append(names, string(one))
			}
		case []push.Action:
			for _, one := range list {
				names = append(names, string(one))
			}
		case []push.Verb:
			for _, one := range list {
				names = append(names, string(one), string(one)+".about")
			}
		}
		return names
	}
	return map[string][]string{
		"status": text(push.Statuses()), "action": text(push.Actions()), "verb": text(push.Verbs()), "provider": providers(),
		"range": spans(), "theme": {"auto", "light", "dark"}, "role": {string(Viewer), string(Operator)},
		"error":     {"none", "none.more", "forbidden", "forbidden.more", "form", "form.more", "large", "large.more", "slow", "slow.more", "away", "away.more"},
		"tile":      {"unknown", "dead", "due", "queued", "sending", "pace"},
		"count":     {"matching", string(operate.WouldSend), string(operate.WouldSettle), string(operate.HeldBack), string(operate.Expired), string(operate.NotAllowed), "may_double"},
		"outcome":   {"accepted", "not_sent", "throttled", "permanent", "account", "ambiguous", "lost", "undone", "sending"},
		"effect":    {string(push.EffectSettled), string(push.EffectLate), string(push.EffectOther)},
		"search.by": {"key", "id", "biz_id", "user", "recipient"}, "signin": {"wrong", "often", "nameless"},
		"key": {push.KeySuccess.String(), push.KeyFailed.String(), push.KeyUnknown.String(), push.KeyGivenUp.String()},
		"fact": {"recipient", "user", "provider", "message", "retries", "reference", "key", "redis", "event_id", "trace",
			"created", "changed", "sent", "settled", "lease", "doubt", "due", "expires", "origin", "double", "other", "route", "hint"},
	}
}

// TestEverySentenceOfTheDeskIsTranslated: what operate says, of deliveries of every status and channel, in doubt or
// not, and of every verb on them.
func TestEverySentenceOfTheDeskIsTranslated(t *testing.T) {
	t.Parallel()
	zh := languages(t).list[1]
	m := newMemory(time.Now)
	policies := []push.Policy{
		{MaxAttempts: 8, SMS: push.Doubt{AskFor: time.Hour}},
		{MaxAttempts: 8, SMS: push.Doubt{Resend: true, AskFor: time.Hour}, WeChat: push.Doubt{Resend: true}},
	}
	said := map[string]bool{}
	var note func(p operate.Phrase)
	note = func(p operate.Phrase) {
		said[p.Text] = true
		for _, arg := range p.Args {
			if inner, ok := arg.(operate.Phrase); ok {
				note(inner)
			}
		}
	}
	for _, policy := range policies {
		d := operate.New(operate.Config{Policy: policy, Now: time.Now}, operate.Ports{Reader: m, Mover: m, Book: m})
		for _, e := range everyEntry() {
			note(operate.Means(e))
			note(d.Next(e, false))
			note(d.Next(e, true))
			e.Provider = "tencent"
			for _, outcome := range []string{"not_sent", "accepted", "undone", "ambiguous"} {
				note(operate.Route(e, []push.Attempt{{Provider: "aliyun", Outcome: outcome}}))
			}
			m.put(e)
		}
		for _, verb := range push.Verbs() {
			for id := range m.entries {
				p, err := d.Plan(t.Context(), verb, push.Filter{IDs: []int64{id}})
				if err != nil {
					t.Fatal(err)
				}
				for reason := range p.Reasons {
					said[reason] = true
				}
			}
		}
	}
	said["a later round of this delivery exists"] = true // no memory has one
	for text := range said {
		if !zh.has("= " + text) {
			t.Errorf("not translated: %q", text)
		}
	}
	for name := range zh.words {
		if text, ok := strings.CutPrefix(name, "= "); ok && !said[text] {
			t.Errorf("nobody says: %q", text)
		}
	}
	if len(said) < 30 {
		t.Errorf("only %v is said", slices.Sorted(maps.Keys(said)))
	}
}

// everyEntry is a delivery of every kind.
func everyEntry() []push.Entry {
	var list []push.Entry
	for _, action := range push.Actions() {
		for _, status := range push.Statuses() {
			for i := range 5 {
				e := entry(int64(len(list)+1), action, status)
				e.UpdatedAt = time.Now()
				switch i {
				case 1:
					e.AmbiguousSince = time.Now()
				case 2:
					e.LetterDue, e.RetriesUsed = true, 8
				case 3:
					e.RecipientKept = false
				case 4:
					e.ExpiresAt = time.Now().Add(-time.Hour)
				}
				list = append(list, e)
			}
		}
	}
	return list
}

func TestLanguageIsTheReadersOwn(t *testing.T) {
	t.Parallel()
	all := languages(t)
	cases := map[string]struct{ accept, cookie, want string }{
		"none":             {"", "", "en"},
		"chinese":          {"zh-CN,zh;q=0.9,en;q=0.8", "", "zh"},
		"traditional":      {"zh-TW", "", "zh"},
		"english first":    {"en-GB,zh;q=0.5", "", "en"},
		"another":          {"fr", "", "en"},
		"chosen":           {"en", "zh", "zh"},
		"chosen the other": {"zh", "en", "en"},
		"nonsense":         {"zh", "nonsense", "en"},
	}
	for name, tc := range cases {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "/console/", nil)
		r.Header.Set("Accept-Language", tc.accept)
		if tc.cookie != "" {
			r.AddCookie(&http.Cookie{Name: cookieLang, Value: tc.cookie})
		}
		if got := all.of(r).Code; got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPagesSpeakBothLanguages(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	v.get("/console/deliveries").sees(t, `<html lang="en"`, "Deliveries", "unknown")
	if got := v.get("/console/prefer?lang=zh&back=/console/deliveries"); got.header.Get("Location") != "/console/deliveries" {
		t.Errorf("back to %q", got.header.Get("Location"))
	}
	v.get("/console/deliveries").sees(t, `<html lang="zh"`, "投递", "未知")
	v.get("/console/deliveries/10248").sees(t, "第 2 次尝试可能已到达接收者", "保留给操作员处理")
}

package console

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"pusher/internal/push"
)

// T is the text of that name in the reader's language.
func (v *visit) T(name string, args ...any) string { return v.say(name, args...) }

// Word is the text of prefix.name where there is one, else the name itself: for words that others may add to, such as
// a provider's.
func (v *visit) Word(prefix, name string) string {
	if v.has(prefix + "." + name) {
		return v.say(prefix + "." + name)
	}
	return name
}

// Carrier is the provider's name where the channel alone does not tell it: in-app and WeChat have one each.
func (v *visit) Carrier(action push.Action, provider string) string {
	if provider == "" || action == push.Notify && provider == "inbox" || action == push.WeChat && provider == "wechat" {
		return ""
	}
	return v.Word("provider", provider)
}

// foreign is a text of internal/operate in the reader's language: the catalogues have it by its English.
func (v *visit) foreign(text string) string {
	if v.has("= " + text) {
		return v.say("= " + text)
	}
	return text
}

// MayAct reports whether the reader may change anything.
func (v *visit) MayAct() bool { return v.Session.Role == Operator }

// FormToken is what each form must carry.
func (v *visit) FormToken() string { return v.console.keeper.formToken(v.Session) }

// Asset is the path of an embedded file.
func (v *visit) Asset(name string) string { return v.console.assets.path(name) }

// Prefer is where a choice of language or looks is made, and leads back to this page.
func (v *visit) Prefer(kind, value string) string {
	return root + "prefer?" + url.Values{kind: {value}, "back": {v.Path}}.Encode()
}

// NextTheme is what the theme button leads to: light, dark, as the system has it, and again.
func (v *visit) NextTheme() string {
	return map[string]string{"auto": "light", "light": "dark", "dark": "auto"}[v.Theme]
}

// stamp is a time as a page shows it: the reader's clock in the text, the exact time beside it.
type stamp struct {
	ISO  string
	Text string
}

// At is a time to the second; "–" for the zero time.
func (v *visit) At(t time.Time) stamp { return v.stamp(t, time.DateTime) }

// Brief is a time in a dense list: the clock of today, the date and clock of earlier days.
func (v *visit) Brief(t time.Time) stamp {
	if t.In(v.zone).Format(time.DateOnly) == v.now.In(v.zone).Format(time.DateOnly) {
		return v.stamp(t, time.TimeOnly)
	}
	return v.stamp(t, "01-02 15:04")
}

func (v *visit) stamp(t time.Time, layout string) stamp {
	if t.IsZero() {
		return stamp{Text: "–"}
	}
	return stamp{ISO: t.In(v.zone).Format("2006-01-02T15:04:05.000Z07:00"), Text: t.In(v.zone).Format(layout)}
}

// Zone names the reader's clock.
func (v *visit) Zone() string {
	return fmt.Sprintf("%s, UTC%s", v.zone, v.now.In(v.zone).Format("-07:00"))
}

// Since is how long ago t was, or how long it is until then.
func (v *visit) Since(t time.Time) string {
	switch d := v.now.Sub(t); {
	case t.IsZero():
		return "–"
	case d < 0:
		return v.say("span.in", v.Span(-d))
	case d < time.Second:
		return v.say("span.now")
	default:
		return v.say("span.ago", v.Span(d))
	}
}

// Span is a duration in its two largest units at most.
func (v *visit) Span(d time.Duration) string {
	switch d = d.Abs(); {
	case d < time.Second:
		return v.say("span.ms", d.Milliseconds())
	case d < 10*time.Second:
		return v.say("span.tenths", d.Seconds())
	case d < time.Minute:
		return v.say("span.s", int(d.Seconds()))
	case d < time.Hour:
		return v.say("span.m", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return v.say("span.h", int(d.Hours()), int(d.Minutes())%60)
	}
	return v.say("span.d", int(d.Hours())/24, int(d.Hours())%24)
}

// Num writes a count with its thousands apart.
func (*visit) Num(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// Plain makes visible what would change how the text around it looks: control characters, and those that turn the
// direction of writing or have no width. The rest of a hostile text is html/template's to escape.
func (*visit) Plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

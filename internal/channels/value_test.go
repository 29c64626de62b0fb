package channels

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"pusher/internal/push"
)

const familyEmoji = "👨‍👩‍👧‍👦" // one sign of seven runes

func TestShortenKeepsWholeSigns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"short", 20, "short"},
		{strings.Repeat("模", 20), 20, strings.Repeat("模", 20)},
		{strings.Repeat("模", 21), 20, strings.Repeat("模", 19) + "…"},
		{strings.Repeat("x", 19) + familyEmoji, 20, strings.Repeat("x", 19) + "…"},
		{familyEmoji + familyEmoji + familyEmoji, 20, familyEmoji + familyEmoji + "…"},
		{"cafe\u0301 society", 5, "caf…"},
		{"two words here", 5, "two…"},
		{"ab", 1, "…"},
		{familyEmoji, 3, "…"},
	} {
		if got := Shorten(c.text, c.most); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestShortenProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(1, 40).Draw(t, "most")
		got := Shorten(text, most)
		if utf8.RuneCountInString(got) > most || !utf8.ValidString(got) {
			t.Fatalf("%q is too long or broken", got)
		}
		kept := strings.TrimSuffix(got, ellipsis)
		if got != text && !strings.HasPrefix(text, kept) {
			t.Fatalf("%q is not how %q begins", kept, text)
		}
		if got != text && !strings.HasPrefix(strings.TrimLeft(text[len(kept):], " "), firstSign(text[len(kept):])) {
			t.Fatalf("%q cuts a sign of %q", got, text)
		}
	})
}

// firstSign is the first whole sign behind the blanks that shortening drops.
func firstSign(text string) string {
	signs := uniseg.NewGraphemes(strings.TrimLeft(text, " "))
	signs.Next()
	return signs.Str()
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit Limit
		value string
		want  string
		code  string
	}{
		"fits":                     {Limit{Most: 35}, strings.Repeat("模", 35), strings.Repeat("模", 35), ""},
		"too long":                 {Limit{Most: 35}, strings.Repeat("模", 36), "", CodeValueTooLong},
		"no limit":                 {Limit{}, strings.Repeat("模", 500), strings.Repeat("模", 500), ""},
		"shortened":                {Limit{Most: 6, Shorten: true}, "Acme & Sons", "Acme…", ""},
		"a number is not":          {Limit{Most: 6, Shorten: true}, "1234567", "", CodeValueTooLong},
		"address":                  {Limit{Most: 35}, "see https://a.example", "", CodeValueURL},
		"address without a scheme": {Limit{}, "WWW.a.example", "", CodeValueURL},
		"address where allowed":    {Limit{URLs: true}, "https://a.example", "https://a.example", ""},
		"empty":                    {Limit{Most: 6}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, f := c.limit.Check(c.value)
			if got != c.want || (f == nil) != (c.code == "") || f != nil && (f.Code != c.code || f.Class != push.Permanent) {
				t.Errorf("%q, %v; want %q, %q", got, f, c.want, c.code)
			}
			if f != nil && strings.Contains(f.Error(), c.value) {
				t.Errorf("%v quotes the value", f)
			}
		})
	}
}

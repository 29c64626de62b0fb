package channels

import (
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

const sample = `
# a comment
Ok accepted
A            throttled recipient text   # and one behind
A.B          permanent
A.*          account   account 5m
A.B.*        ambiguous
C            throttled channel midnight
`

func TestTableReadsByFullCode(t *testing.T) {
	t.Parallel()
	table, err := ReadTable(sample)
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]push.Failure{
		"Ok":      {Class: push.Accepted},
		"A":       {Class: push.Throttled, Scope: push.ScopeRecipient, Wait: time.Minute},
		"A.B":     {Class: push.Permanent},
		"A.C":     {Class: push.Account, Scope: push.ScopeAccount, Wait: 5 * time.Minute},
		"A.B.C":   {Class: push.Ambiguous},
		"AB":      {Class: push.NotSent},
		"C.D":     {Class: push.NotSent},
		"ok":      {Class: push.NotSent},
		"unknown": {Class: push.NotSent},
	} {
		f := table.Failure(code, "per minute", time.Now())
		if f.Class != want.Class || f.Scope != want.Scope || f.Wait != want.Wait || f.Code != code || f.Message != "per minute" {
			t.Errorf("%s is %+v, want %+v", code, *f, want)
		}
	}
}

func TestTableRefusesBadLines(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"A":                              "1 fields",
		"A lost":                         `class "lost"`,
		"A permanent everyone":           `scope "everyone"`,
		"A throttled channel noon":       `wait "noon"`,
		"A throttled channel -5s":        `wait "-5s"`,
		"A throttled channel 5s x":       "5 fields",
		"A permanent\nA not_sent":        "line 2: code A is there twice",
		"# ok\n\nB throttled channel 1x": "line 3",
	} {
		if _, err := ReadTable(line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q gives %v, want %s", line, err, says)
		}
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	utc := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		wait, message string
		now           time.Time
		want          time.Duration
	}{
		{"30s", "", utc("2026-01-31T10:00:00Z"), 30 * time.Second},
		{"midnight", "", utc("2026-01-31T10:00:00Z"), 6 * time.Hour}, // 18:00 in Beijing
		{"midnight", "", utc("2026-01-31T16:00:00Z"), 24 * time.Hour},
		{"midnight", "", utc("2026-01-31T15:59:59Z"), time.Second},
		{"month", "", utc("2026-01-31T10:00:00Z"), 6 * time.Hour},
		{"month", "", utc("2026-12-31T15:00:00Z"), time.Hour},
		{"08:00", "", utc("2026-01-31T15:00:00Z"), 9 * time.Hour}, // 23:00 in Beijing
		{"08:00", "", utc("2026-01-31T23:00:00Z"), time.Hour},     // 07:00
		{"08:00", "", utc("2026-02-01T00:00:00Z"), 24 * time.Hour},
		{"text", "触发分钟级流控Permits:1", time.Time{}, time.Minute},
		{"text", "触发小时级流控Permits:5", time.Time{}, time.Hour},
		{"text", "触发天级流控Permits:10", time.Time{}, 24 * time.Hour},
		{"text", "Minute-level flow control", time.Time{}, time.Minute},
		{"text", "hour level", time.Time{}, time.Hour},
		{"text", "daily limit", time.Time{}, 24 * time.Hour},
		{"text", "", time.Time{}, time.Hour},
	} {
		w, err := parseWait(c.wait)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.from(c.now, c.message); got != c.want {
			t.Errorf("%s at %v with %q waits %v, want %v", c.wait, c.now, c.message, got, c.want)
		}
	}
}

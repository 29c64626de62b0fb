package main

import (
	"testing"
	"time"
)

func TestATimeIsWrittenInWholeOrAsHowLongAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                          {},
		"2026-01-01T08:00:00+08:00": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"2026-01-01 07:30":          time.Date(2026, 1, 1, 7, 30, 0, 0, time.UTC),
		"2026-01-01":                time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"20m":                       now.Add(-20 * time.Minute),
		"0s":                        now,
	} {
		if got, err := momentOf("--to", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "-20m", "20"} {
		if got, err := momentOf("--to", text, now); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

package config

import (
	"strings"
	"testing"
	"time"
)

func TestRetentionSection(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, valid+"retention: {keep: 2160h, inbox: 8760h, topics: 240h}\n")
	if want := (Retention{Keep: 2160 * time.Hour, Inbox: 8760 * time.Hour, Topics: 240 * time.Hour}); c.Retention != want {
		t.Errorf("got %+v, want %+v", c.Retention, want)
	}
	if c := mustLoad(t, valid); c.Retention.Keep != 0 || c.Retention.Inbox != 0 {
		t.Errorf("unless told, everything is kept for ever: %+v", c.Retention)
	}
}

func TestRetentionNeverDropsWhatCanStillBeAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, says string
		env        []string
	}{
		"below zero":                      {"retention: {keep: -1h}", "for ever", nil},
		"inbox below zero":                {"retention: {inbox: -1h}", "for ever", nil},
		"shorter than the window":         {"retention: {keep: 200h}\ndedup: {window: 300h}", "window", nil},
		"shorter than the topics":         {"retention: {keep: 100h}", "retention.topics", nil},
		"shorter than the retries":        {"retention: {keep: 300h}\nretry: {first: 100h, max: 200h}", "retry", nil},
		"shorter than an unknown is held": {"retention: {keep: 300h}", "hold_max", []string{"PUSHER_CHANNELS_SMS_HOLD_MAX=400h"}},
		"topics kept for no time":         {"retention: {topics: 0s}", "retention.topics", nil},
	} {
		_, _, err := load(t, valid+c.text+"\n", c.env...)
		if err == nil || !strings.Contains(err.Error(), "retention.") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want a problem of retention that names %s", name, err, c.says)
		}
	}
}

package config

import (
	"math"
	"time"
)

// Retention is how long what is over is kept; the compensator deletes what is older.
type Retention struct {
	Keep   time.Duration `yaml:"keep"`   // finished deliveries, from their settle; 0 for ever [0]
	Inbox  time.Duration `yaml:"inbox"`  // in-app messages, from their creation, read or not; 0 for ever [0]
	Topics time.Duration `yaml:"topics"` // how long Kafka keeps records, its retention.ms; only checked against keep [168h]
}

// validateRetention checks that no row is deleted which could still be asked for: by a record that comes within its
// push's window, by one that is read again from its topic, or by a delivery that is still being tried.
func (c *Config) validateRetention(v *validator) {
	r := c.Retention
	v.checkf(r.Keep >= 0, "retention.keep", "is %s: must be 0 (for ever) or more", r.Keep)
	v.checkf(r.Inbox >= 0, "retention.inbox", "is %s: must be 0 (for ever) or more", r.Inbox)
	v.positive("retention.topics", r.Topics)
	if r.Keep <= 0 {
		return
	}
	least := func(d time.Duration, what string) {
		v.checkf(r.Keep >= d, "retention.keep", "is %s: must not be shorter than %s (%s)", r.Keep, what, d)
	}
	least(c.Dedup.Window, "dedup.window")
	for name, p := range c.Pushes {
		least(p.Dedup.Window, "pushes."+name+".dedup.window")
	}
	least(r.Topics, "retention.topics")
	least(c.Retry.longest(), "all waits of retry together")
	least(max(c.Channels.SMS.HoldMax, c.Channels.WeChat.HoldMax), "hold_max of a channel")
}

// longest is how long the retries of one delivery can take.
func (r Retry) longest() time.Duration {
	var all float64
	for i := range max(r.MaxAttempts-1, 0) {
		all += min(float64(r.First)*math.Pow(r.Factor, float64(i)), float64(r.Max)) * (1 + r.Jitter)
	}
	return time.Duration(min(all, float64(math.MaxInt64/2)))
}

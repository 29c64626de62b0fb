package push

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffGrowsToItsMax(t *testing.T) {
	t.Parallel()
	b := Backoff{MaxAttempts: 8, First: 30 * time.Second, Factor: 2, Max: time.Hour}
	for used, want := range map[int]time.Duration{
		-1: 30 * time.Second, 0: 30 * time.Second, 1: 30 * time.Second, 2: time.Minute, 3: 2 * time.Minute, 7: 32 * time.Minute,
		8: time.Hour, 9: time.Hour, 10_000: time.Hour,
	} {
		if got := b.Wait(used, 0.5); got != want {
			t.Errorf("after attempt %d: %v, want %v", used, got, want)
		}
	}
}

func TestBackoffSpreadsEvenlyAndStaysWithinMax(t *testing.T) {
	t.Parallel()
	b := Backoff{First: 30 * time.Second, Factor: 2, Max: time.Hour, Jitter: 0.2}
	if low, high := b.Wait(1, 0), b.Wait(1, 0.999999); low != 24*time.Second || high < 35*time.Second || high > 36*time.Second {
		t.Errorf("the first wait is spread over %v to %v, want 24s to 36s", low, high)
	}
	rapid.Check(t, func(t *rapid.T) {
		used := rapid.IntRange(0, 10_000).Draw(t, "used")
		wait := b.Wait(used, rapid.Float64Range(0, 0.999).Draw(t, "rnd"))
		if wait < 24*time.Second || wait > b.Max {
			t.Fatalf("waits %v", wait)
		}
	})
}

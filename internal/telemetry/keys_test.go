package telemetry

import (
	"strings"
	"testing"
)

func TestKeysAreAbsentWhileNotKnown(t *testing.T) {
	t.Parallel()
	m := New("")
	keys := m.Keys()
	if got := scrape(t, m); strings.Contains(got, "pusher_dedup_keys ") {
		t.Error("keys are shown before anybody looked")
	}
	keys.Looked(10, -1, -1)
	if got := scrape(t, m); !strings.Contains(got, "pusher_dedup_keys 10") ||
		strings.Contains(got, "pusher_dedup_keys_bytes") || strings.Contains(got, "evicted") {
		t.Error(got)
	}
	keys.Failed()
	if got := scrape(t, m); strings.Contains(got, "pusher_dedup_keys ") ||
		!strings.Contains(got, `pusher_gauge_errors_total{source="dedup_keys"} 1`) {
		t.Error(got)
	}
}

package push

import (
	"testing"
	"time"
)

// TestSettlementIsWhatTheRowSays holds to rule K1.
func TestSettlementIsWhatTheRowSays(t *testing.T) {
	t.Parallel()
	updated := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	settled := updated.Add(time.Hour)
	for status, want := range map[Status]Settlement{
		"":          {KeyAbsent, 4, updated},
		Sending:     {KeyAbsent, 4, updated},
		Sent:        {KeySuccess, 4, updated},
		Delivered:   {KeySuccess, 4, updated},
		Undelivered: {KeySuccess, 4, updated},
		Failed:      {KeyFailed, 4, updated},
		Deferred:    {KeyFailed, 4, updated},
		Queued:      {KeyFailed, 3, updated}, // so that retry message 4 is granted (rule C3)
		Unknown:     {KeyUnknown, 4, updated},
		Dead:        {KeyGivenUp, 4, updated},
		Expired:     {KeyGivenUp, 4, updated},
		Skipped:     {KeyGivenUp, 4, updated},
	} {
		row := Row{ID: 1, Status: status, Attempt: 4, UpdatedAt: updated}
		if got := row.Settlement(); got != want {
			t.Errorf("%q settles the key as %+v, want %+v", status, got, want)
		}
		row.SettledAt = settled
		if got := row.Settlement(); got.At != settled {
			t.Errorf("%q: the window counts from %v, want the settle", status, got.At)
		}
	}
}

func TestKeyStateNamesAndNumbersAreTheFields(t *testing.T) {
	t.Parallel()
	for state, want := range map[KeyState]string{
		-1: "absent", 0: "processing", 1: "success", 2: "failed", 3: "unknown", 4: "given_up", 5: "invalid",
	} {
		if got := state.String(); got != want {
			t.Errorf("state %d is %s, want %s", state, got, want)
		}
	}
}

package push

import (
	"testing"
	"time"
)

// TestPolicyResendsOnlyAfterAskingAndFlight holds to rule Q5: asking, lease and timeout are over.
func TestPolicyResendsOnlyAfterAskingAndFlight(t *testing.T) {
	t.Parallel()
	p := Policy{
		Lease:        30 * time.Second,
		ResendWithin: 9 * time.Minute,
		SMS:          Doubt{AskFor: 15 * time.Minute, Timeout: 5 * time.Second},
		WeChat:       Doubt{Timeout: 7 * time.Second},
	}
	for action, want := range map[Action]time.Duration{
		SMS:    15*time.Minute + 35*time.Second,
		WeChat: 9*time.Minute + 37*time.Second,
	} {
		if got := p.ResendAfter(action); got != want {
			t.Errorf("%s is sent again after %v, want %v", action, got, want)
		}
	}
}

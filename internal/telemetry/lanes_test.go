package telemetry

import (
	"strings"
	"testing"
	"time"
)

func TestLanesAreShown(t *testing.T) {
	t.Parallel()
	m := New("v1")
	m.RateWaits("aliyun")(30 * time.Millisecond)
	m.RateWaits("nobody")(time.Second)
	m.WatchLanes(func() []Lane {
		return []Lane{
			{Provider: "aliyun", Breaker: 2, InFlight: 3, Limit: 64, Limited: true, Shared: true, Sharing: 3, Waiting: 9, Stops: map[string]int{"account": 1}},
			{Provider: "wechat", Limit: 1024},
		}
	})
	text := scrape(t, m)
	for _, want := range []string{
		`pusher_provider_breaker_state{provider="aliyun"} 2`, `pusher_provider_breaker_state{provider="wechat"} 0`,
		`pusher_provider_in_flight{provider="aliyun"} 3`, `pusher_provider_in_flight_limit{provider="wechat"} 1024`,
		`pusher_provider_rate_shared{provider="aliyun"} 1`, `pusher_provider_rate_instances{provider="aliyun"} 3`, `pusher_provider_rate_waiting{provider="aliyun"} 9`,
		`pusher_provider_stops{provider="aliyun",scope="account"} 1`, `pusher_provider_stops{provider="aliyun",scope="template"} 0`,
		`pusher_rate_wait_seconds_count{provider="aliyun"} 1`, `pusher_rate_wait_seconds_count{provider="other"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, `pusher_provider_rate_shared{provider="wechat"}`) {
		t.Error("a provider without a rate has one")
	}
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"pusher/internal/assemble"
	"pusher/internal/config"
)

// checkRates says how fast each provider is sent to, and when it no longer is.
func checkRates(_ context.Context, c *config.Config, r *report) {
	rates := assemble.Rates(c)
	for _, provider := range slices.Sorted(maps.Keys(rates)) {
		r.add(finding{what: "rate of " + provider, says: rateSays(rates[provider]) + "; " + breakerSays(c.Channels.Breaker)})
	}
}

func rateSays(perSecond float64) string {
	if perSecond == 0 {
		return "no limit of ours"
	}
	apart := time.Duration(float64(time.Second) / perSecond)
	return fmt.Sprintf("%s a second over all instances, evenly: one each %s", strconv.FormatFloat(perSecond, 'f', -1, 64), apart.Round(time.Microsecond))
}

func breakerSays(b config.Breaker) string {
	if b.Pause == 0 {
		return "no breaker"
	}
	return fmt.Sprintf("a pause of %s when %.0f%% of at least %d requests in ten seconds fail", b.Pause, 100*b.Share, b.Requests)
}

package operate

import (
	"cmp"

	"pusher/internal/push"
)

// Route says which provider has a delivery and why not those that had it before: "sent by tencent; aliyun refused:
// isp.SYSTEM_ERROR" (rule P5). A delivery that one provider had all along has none.
func Route(e push.Entry, attempts []push.Attempt) Phrase {
	last := map[string]push.Attempt{} // of each other provider
	var order []string
	for _, a := range attempts {
		if a.Provider == "" || a.Provider == e.Provider {
			continue
		}
		if _, seen := last[a.Provider]; !seen {
			order = append(order, a.Provider)
		}
		last[a.Provider] = a
	}
	if len(order) == 0 {
		return say("")
	}
	route := whose(e)
	for _, provider := range order {
		route = say("%s; %s", route, whyNot(last[provider]))
	}
	return route
}

// whose says what the current provider has to do with it.
func whose(e push.Entry) Phrase {
	switch e.Status {
	case push.Sent, push.Delivered, push.Undelivered:
		return say("sent by %s", e.Provider)
	case push.Sending:
		return say("now with %s", e.Provider)
	case push.Unknown:
		return say("perhaps sent by %s", e.Provider)
	case push.Failed, push.Queued, push.Deferred, push.Dead, push.Expired, push.Skipped:
	}
	return say("tried last by %s", e.Provider)
}

// whyNot says what became of another provider's attempt.
func whyNot(a push.Attempt) Phrase {
	switch a.Outcome {
	case push.NotSent.String(), push.Throttled.String(), push.Permanent.String(), push.Account.String():
		return say("%s refused: %s", a.Provider, cmp.Or(a.ErrorCode, a.Outcome))
	case push.Accepted.String():
		return say("%s took it before", a.Provider)
	case "undone":
		return say("%s was not called", a.Provider)
	}
	return say("%s may have sent it", a.Provider)
}

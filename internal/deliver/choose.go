package deliver

import (
	"slices"

	"pusher/internal/push"
)

// choose picks the sender of a new attempt: the first healthy one that serves the push, else the first that serves it,
// else the first, whose refusal says what is missing. nil: the channel has none.
func (c Channel) choose(bizType string) Sender {
	if s := c.pick(bizType, nil); s != nil || len(c.Senders) == 0 {
		return s
	}
	return c.Senders[0]
}

// pick is the first healthy sender that serves the push, else the first that serves it; those that were tried are
// passed over.
func (c Channel) pick(bizType string, tried []string) Sender {
	var served Sender
	for _, s := range c.Senders {
		switch {
		case !s.Serves(bizType) || slices.Contains(tried, s.Provider()):
		case healthy(s, bizType):
			return s
		case served == nil:
			served = s
		}
	}
	return served
}

// named is the sender that the row names; nil: the channel has no such provider any more.
func (c Channel) named(provider string) Sender {
	for _, s := range c.Senders {
		if s.Provider() == provider {
			return s
		}
	}
	return nil
}

func healthy(s Sender, bizType string) bool {
	says, ok := s.(Health)
	return !ok || says.Healthy(bizType)
}

// passable reports whether a result lets another provider be tried (rule P5): the attempt certainly did not reach the
// recipient, and for a reason of its provider's own. A limit of the recipient, or of the hour for a template, holds
// with every provider; what is refused for good is refused by all.
func passable(r push.Result) bool {
	switch r.Class {
	case push.NotSent, push.Account:
		return true
	case push.Throttled:
		return r.Scope == push.ScopeChannel || r.Scope == push.ScopeAccount
	case push.Accepted, push.Permanent, push.Ambiguous:
	}
	return false
}

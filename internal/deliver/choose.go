package deliver

import (
	"slices"

	"pusher/internal/push"
)

// choose picks the sender of a new attempt: the first healthy one that can send m, else the first that can; where none
// can, the first with a template, else the first, whose refusal says what is missing. nil: the channel has none.
func (c Channel) choose(m push.Message) Sender {
	if s := c.pick(m, nil); s != nil || len(c.Senders) == 0 {
		return s
	}
	serves := func(s Sender) bool { return s.Serves(m.BizType) }
	return c.Senders[max(0, slices.IndexFunc(c.Senders, serves))]
}

// pick is the first healthy sender that can send m, else the first that can; those that were tried are passed over.
func (c Channel) pick(m push.Message, tried []string) Sender {
	var able Sender
	for _, s := range c.Senders {
		switch {
		case slices.Contains(tried, s.Provider()) || !c.can(s, m):
		case healthy(s, m.BizType):
			return s
		case able == nil:
			able = s
		}
	}
	return able
}

// can reports whether a sender has a template for m and, where there is a choice, can write it: a variable that is too long
// for one provider may be none for the next.
func (c Channel) can(s Sender, m push.Message) bool {
	if !s.Serves(m.BizType) {
		return false
	}
	writer, says := s.(Writer)
	return len(c.Senders) == 1 || !says || writer.Writes(m)
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

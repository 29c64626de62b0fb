package deliver

// choose picks the sender of a new attempt: the first healthy one that serves the push, else the first that serves it,
// else the first, whose refusal says what is missing. nil: the channel has none.
func (c Channel) choose(bizType string) Sender {
	var served Sender
	for _, s := range c.Senders {
		switch {
		case !s.Serves(bizType):
		case healthy(s, bizType):
			return s
		case served == nil:
			served = s
		}
	}
	if served == nil && len(c.Senders) > 0 {
		return c.Senders[0]
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

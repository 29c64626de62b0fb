package push

// Admit reads a producer's record as the pusher will: decoded, of a configured push, and with what its rule takes as the
// business fact. The error is a *PoisonError, or ErrTombstone. r.Time is the record's own; by rules maps biz_type to rule.
func Admit(r Record, rules map[string]Rule) (*Event, error) {
	event, err := Decode(r)
	if err != nil {
		return nil, err
	}
	rule, ok := rules[event.BizType]
	if !ok {
		return nil, &PoisonError{ReasonUnknownBizType, "biz_type", "no push of this name is configured"}
	}
	if _, err := rule.DedupID(event, r.Time); err != nil {
		return nil, err
	}
	return event, nil
}

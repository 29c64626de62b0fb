package push

import (
	"fmt"
	"strconv"
)

// Narrow is the event's JSON for one action: the text as received, with that action alone and with this recipient.
func (e *Event) Narrow(a Action, to Recipient) ([]byte, error) { return narrow(e.Raw, a, to) }

// narrow replaces actions and recipient in an event's text, and appends more members in place of their namesakes.
func narrow(raw []byte, a Action, to Recipient, more ...member) ([]byte, error) {
	o, err := readObject(string(raw), "")
	if err != nil {
		return nil, fmt.Errorf("narrowing an event to %s: %w", a, err)
	}
	o = o.without("actions", "recipient")
	for _, m := range more {
		o = o.without(m.name)
	}
	actions := append(appendQuoted([]byte{'['}, string(a)), ']')
	o = append(o, member{"actions", string(actions)}, member{"recipient", string(to.object().text())})
	return append(o, more...).text(), nil
}

// quoted is a member whose value is a string.
func quoted(name, value string) member { return member{name, string(appendQuoted(nil, value))} }

func (to Recipient) object() object {
	var o object
	for _, m := range []struct{ name, value string }{
		{"user_id", to.UserID}, {"phone", to.Phone}, {"openid", to.OpenID},
	} {
		if m.value != "" {
			o = append(o, quoted(m.name, m.value))
		}
	}
	return o
}

// to is the recipient as far as the row knew it: the user, and the channel's own address.
func (p Poke) to() Recipient {
	to := Recipient{UserID: p.UserID}
	switch p.Action {
	case SMS:
		to.Phone = p.Recipient
	case WeChat:
		to.OpenID = p.Recipient
	case Notify:
		if p.Recipient != "" {
			to.UserID = p.Recipient
		}
	}
	return to
}

// Record is the retry message of a re-queued row for that topic: the event narrowed to its action, with its
// recipient, and what it asks for in the headers. Decode and Record.Retry read it back.
func (p Poke) Record(topic string) (Record, error) {
	value, err := narrow(p.Event, p.Action, p.to())
	if err != nil {
		return Record{}, err
	}
	return p.record(topic, value), nil
}

// Record is the dead letter of a delivery given up on: the event narrowed to its action, with last_error
// {code, message}, and where it came from in the headers.
func (l Letter) Record(topic string) (Record, error) {
	lastError := object{quoted("code", l.Code), quoted("message", l.Message)}
	value, err := narrow(l.Event, l.Action, l.to(), member{"last_error", string(lastError.text())})
	if err != nil {
		return Record{}, err
	}
	record := l.record(topic, value)
	record.Headers = append(record.Headers, header(HeaderReason, ReasonDead))
	record.Headers = append(record.Headers, l.Origin.Headers()...)
	return record, nil
}

// record carries value under the event's biz_id, with the headers that name the delivery and its attempt.
func (p Poke) record(topic string, value []byte) Record {
	record := Record{
		Origin: Origin{Topic: topic},
		Key:    []byte(p.BizID),
		Value:  value,
		Headers: []Header{
			header(HeaderAction, string(p.Action)),
			header(HeaderRound, strconv.Itoa(p.Round)),
			header(HeaderAttempt, strconv.Itoa(p.Attempt)),
			header(HeaderRuleVersion, p.RuleVersion),
			header(HeaderDedupID, p.DedupID),
		},
	}
	if trace := p.TraceParent(); trace != "" {
		record.Headers = append(record.Headers, header(HeaderTraceParent, trace))
	}
	return record
}

package push

// Action is one channel of a push, as events name it.
type Action string

// The channels of the product (docs/contract.md, section 1).
const (
	Notify Action = "notify" // in-app message, kept in our own inbox
	SMS    Action = "sms"    // text message by Aliyun or Tencent Cloud
	WeChat Action = "wechat" // official-account template message
)

// Actions lists the channels in the order in which an event without actions gets them.
func Actions() []Action { return []Action{Notify, SMS, WeChat} }

// Known reports whether a is one of the product's channels.
func (a Action) Known() bool { return a == Notify || a == SMS || a == WeChat }

// Capability says what a channel can do about an attempt whose outcome is not known (docs/protocol.md, section 4).
type Capability int

const (
	// Opaque channels can neither repeat nor tell at send time: an ambiguous attempt becomes unknown and is asked about.
	Opaque Capability = iota
	// Windowed channels dedup by our reference for a while: an ambiguous attempt is repeated inside resend_within.
	Windowed
	// Transactional channels commit the message with the result: an ambiguous attempt is simply repeated.
	Transactional
)

// Capability returns what the channel can do about an ambiguous attempt; an unknown action is Opaque, the safest.
func (a Action) Capability() Capability {
	switch a {
	case Notify:
		return Transactional
	case WeChat:
		return Windowed
	case SMS:
		return Opaque
	}
	return Opaque
}

package push

// Message is what a sender is asked to send: one attempt of one delivery.
type Message struct {
	BizType   string            // names the templates
	Reference string            // the same for every attempt of a delivery: OutId, SessionContext, client_msg_id
	Recipient string            // user id, phone in E.164, or openid, whole; never logged
	Vars      map[string]string // template variables: the params as text, and biz_type, biz_id, event_id, occurred_at
}

// Acceptance is a sender's yes.
type Acceptance struct {
	Provider  string // "inbox", "aliyun", "tencent", "wechat"
	MessageID string // the provider's id of the message; may be empty
	Inbox     *Inbox // in-app only: the message itself, committed with the result (rule P1)
}

// Inbox is one in-app message.
type Inbox struct {
	UserID string
	Title  string
	Body   string
	Data   []byte // JSON object for the app
}

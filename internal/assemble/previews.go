package assemble

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"pusher/internal/config"
	"pusher/internal/push"
)

// Previews are the messages that the configured channels would send: written as for sending, and not sent. Close them
// in the end.
type Previews struct {
	cfg    *config.Config
	rules  map[string]push.Rule
	inbox  writer
	sms    []writer // in order of preference
	wechat writer
	opened []interface{ Close() }
}

// writer is a sender that is not asked to send.
type writer interface {
	Provider() string
	Preview(m push.Message) ([]byte, error)
	Variables(bizType string) []string
}

// Preview is one message.
type Preview struct {
	Action   push.Action
	Provider string
	Request  json.RawMessage // as it would go over the wire, its recipient masked; nil when there is none
	Skipped  string          // the event has no such recipient; the reason
	Refused  *push.Failure   // the message can never go
}

// NewPreviews makes the senders of every channel, whether or not it has an account.
func NewPreviews(c *config.Config) (*Previews, error) {
	inbox, err := Notify(c)
	aliyun, errAliyun := Aliyun(c)
	tencent, errTencent := Tencent(c, nil)
	wechat, errWeChat := WeChat(c, nil)
	if err := errors.Join(err, errAliyun, errTencent, errWeChat); err != nil {
		return nil, err
	}
	p := &Previews{
		cfg: c, rules: c.Rules(), inbox: inbox, wechat: wechat, opened: []interface{ Close() }{aliyun, tencent, wechat},
	}
	for _, name := range c.Channels.SMS.Providers {
		p.sms = append(p.sms, map[string]writer{config.ProviderAliyun: aliyun, config.ProviderTencent: tencent}[name])
	}
	return p, nil
}

// Close closes the senders.
func (p *Previews) Close() {
	for _, one := range p.opened {
		one.Close()
	}
}

// Event writes what each channel would say about the event: one message a channel, of SMS one a provider that has a
// template. An action that is not configured has none.
func (p *Previews) Event(e *push.Event, recordTime time.Time) ([]Preview, error) {
	rule := p.rules[e.BizType]
	dedupID, err := rule.DedupID(e, recordTime)
	if err != nil {
		return nil, err
	}
	configured := p.cfg.Pushes[e.BizType].Actions.List()
	wanted := e.Actions
	if len(wanted) == 0 {
		wanted = configured
	}
	var list []Preview
	for _, action := range wanted {
		switch {
		case !action.Known():
			list = append(list, Preview{Action: action, Skipped: "unknown_action"})
			continue
		case !slices.Contains(configured, action):
			list = append(list, Preview{Action: action, Skipped: "action_not_configured"})
			continue
		}
		id := push.Identity{BizType: e.BizType, RuleVersion: rule.Version, DedupID: dedupID, Action: action}
		m := push.Message{BizType: e.BizType, Reference: id.Reference(1), Vars: e.Vars()}
		list = append(list, p.messages(action, e.Recipient, m)...)
	}
	return list, nil
}

// messages writes m for each provider of the action. The senders see the recipient masked: none can show it.
func (p *Previews) messages(action push.Action, to push.Recipient, m push.Message) []Preview {
	address, reason := p.address(action, to)
	if reason != "" {
		return []Preview{{Action: action, Skipped: reason}}
	}
	m.Recipient = push.Mask(address)
	var list []Preview
	for _, w := range p.writers(action, m.BizType) {
		request, err := w.Preview(m)
		one := Preview{Action: action, Provider: w.Provider(), Request: request}
		if err != nil {
			one.Refused = push.FailureOf(err)
		}
		list = append(list, one)
	}
	return list
}

// writers are those that have a template for the push.
func (p *Previews) writers(action push.Action, bizType string) []writer {
	switch action {
	case push.Notify:
		return []writer{p.inbox}
	case push.WeChat:
		return []writer{p.wechat}
	case push.SMS:
	}
	templates := p.cfg.Pushes[bizType].Actions.SMS
	return slices.DeleteFunc(slices.Clone(p.sms), func(w writer) bool { return !templates.Has(w.Provider()) })
}

// address is the recipient's own address on the channel, or why there is none.
func (p *Previews) address(action push.Action, to push.Recipient) (address, reason string) {
	switch {
	case action == push.Notify && to.UserID == "":
		return "", "no_user_id"
	case action == push.Notify:
		return to.UserID, ""
	case action == push.WeChat && to.OpenID == "":
		return "", "no_openid"
	case action == push.WeChat:
		return to.OpenID, ""
	case to.Phone == "":
		return "", "no_phone"
	}
	phone, err := push.NormalizePhone(to.Phone, p.cfg.Phone.Region)
	if err != nil {
		return "", "bad_phone"
	}
	return phone, ""
}

// Sample writes the push's messages with its sample of params; none without a sample.
func (p *Previews) Sample(bizType string) []Preview {
	sample := p.cfg.Pushes[bizType].Sample
	if len(sample) == 0 {
		return nil
	}
	e := push.Event{BizType: bizType, BizID: "10248", EventID: "sample", OccurredAt: time.Now(), Params: map[string]push.Value{}}
	for name, text := range sample {
		e.Params[name] = push.Text(text)
	}
	to := push.Recipient{UserID: "sample-user", Phone: "+8613800138000", OpenID: "sample-openid"}
	var list []Preview
	for _, action := range p.cfg.Pushes[bizType].Actions.List() {
		m := push.Message{BizType: bizType, Reference: "0123456789abcdef0123456789abcdef", Vars: e.Vars()}
		list = append(list, p.messages(action, to, m)...)
	}
	return list
}

// Params lists the params that the push's texts name, sorted; the event's own fields are not among them.
func (p *Previews) Params(bizType string) []string {
	names := map[string]bool{}
	for _, action := range p.cfg.Pushes[bizType].Actions.List() {
		for _, w := range p.writers(action, bizType) {
			for _, name := range w.Variables(bizType) {
				names[name] = true
			}
		}
	}
	for _, own := range []string{"biz_type", "biz_id", "event_id", "occurred_at"} {
		delete(names, own)
	}
	return slices.Sorted(maps.Keys(names))
}

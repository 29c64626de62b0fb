package config

import (
	"maps"
	"regexp"
	"slices"
)

var (
	// pushName is a biz_type (docs/contract.md, section 2).
	pushName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	// versionName is the version of a push's rule; a retry message carries it, so it is bounded.
	versionName = regexp.MustCompile(`^v[1-9][0-9]{0,8}$`)
)

// validatePushes checks each push by name, so that problems come in the same order every time.
func (c *Config) validatePushes(v *validator) {
	for _, name := range slices.Sorted(maps.Keys(c.Pushes)) {
		p, key := c.Pushes[name], "pushes."+name
		v.checkf(pushName.MatchString(name), key, "is no biz_type: 1 to 64 of a-z A-Z 0-9 _ . -")
		v.checkf(versionName.MatchString(p.Version), key+".version", "%q is no version: v1, v2 and so on", p.Version)
		v.checkf(p.Dedup.Window >= c.Dedup.Lease, key+".dedup.window", "is %s: must not be shorter than dedup.lease (%s)", p.Dedup.Window, c.Dedup.Lease)
		_, err := p.Dedup.By.parse()
		v.checkf(err == nil, key+".dedup.by", "%v", err)
		v.checkf(len(p.Actions.List()) > 0, key+".actions", "is missing: configure notify, sms or wechat")
		c.validateActions(v, key+".actions", p.Actions)
	}
}

// validateActions checks that each channel of a push has what its provider asks for. The first SMS provider must have a
// template; the others may: they are tried only when the first certainly did not send.
func (c *Config) validateActions(v *validator, key string, a PushActions) {
	if a.Notify != nil {
		v.checkf(a.Notify.Title != "", key+".notify.title", "is missing: an in-app message needs a title")
	}
	if a.WeChat != nil {
		v.checkf(a.WeChat.Template != "", key+".wechat.template", "is missing: name the official account's template")
	}
	if a.SMS == nil {
		return
	}
	if a.SMS.Aliyun != nil {
		v.checkf(a.SMS.Aliyun.Template != "", key+".sms.aliyun.template", "is missing: name the registered template")
	}
	if a.SMS.Tencent != nil {
		v.checkf(a.SMS.Tencent.Template != "", key+".sms.tencent.template", "is missing: name the registered template")
		a.SMS.validateOrder(v, key+".sms")
	}
	if providers := c.Channels.SMS.Providers; len(providers) == 0 {
		v.checkf(false, key+".sms", "cannot be sent: channels.sms has no provider with an account")
	} else {
		v.checkf(a.SMS.Has(providers[0]), key+".sms", "has no template for %s, the first of channels.sms.providers", providers[0])
	}
}

// validateOrder checks that Tencent, which knows variables by their position alone, gets each one that is declared once.
func (s SMSTemplates) validateOrder(v *validator, key string) {
	order, t := key+".tencent.order", s.Tencent
	for _, name := range t.Order {
		_, known := s.Params[name]
		v.checkf(known, order, "names %s, which is not among sms.params", name)
	}
	v.checkf(t.Params == nil || len(t.Order) == 0, order, "is given beside params: keep one of the two")
	v.checkf(t.Params != nil || len(s.Params) == 0 || len(t.Order) > 0, order,
		"is missing: Tencent takes sms.params by position, so name them in order")
}

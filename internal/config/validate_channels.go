package config

import (
	"slices"
	"time"
)

// wechatMemory is how long WeChat dedups on openid and client_msg_id.
const wechatMemory = 10 * time.Minute

// longestTimeout is the longest that one request may take, on any channel.
func (c Channels) longestTimeout() time.Duration {
	return max(c.Notify.Timeout, c.SMS.Timeout, c.WeChat.Timeout)
}

// validate checks every channel, used or not. A WeChat repeat must reach the provider while it still remembers the
// first one (docs/protocol.md, section 4).
func (c Channels) validate(v *validator) {
	v.positive("channels.notify.timeout", c.Notify.Timeout)
	c.SMS.validate(v)
	w := c.WeChat
	v.positive("channels.wechat.timeout", w.Timeout)
	v.checkf(w.ResendWithin >= 0 && w.ResendWithin < wechatMemory, "channels.wechat.resend_within",
		"is %s: must be below the %s for which WeChat remembers a message, with room for one on its way, such as 9m", w.ResendWithin, wechatMemory)
	v.one("channels.wechat.when_unknown", w.WhenUnknown, Hold, Resend)
	v.positive("channels.wechat.hold_max", w.HoldMax)
	v.baseURL("channels.wechat.endpoint", w.Endpoint)
	v.rate("channels.wechat.rate", w.Rate)
	v.positive("channels.probe_after", c.ProbeAfter)
	b := c.Breaker
	v.checkf(b.Pause >= 0, "channels.breaker.pause", "is %s: must be 0s (no breaker) or more", b.Pause)
	v.checkf(b.Share > 0 && b.Share <= 1, "channels.breaker.share", "is %v: must be above 0 and at most 1", b.Share)
	v.checkf(b.Requests > 0, "channels.breaker.requests", "is %d: must be 1 or more", b.Requests)
}

// The bounds of a rate, in requests a second: what is beyond them is a mistake.
const (
	slowestRate = 0.001
	fastestRate = 1_000_000
)

// rate checks a number of requests a second.
func (v *validator) rate(key string, perSecond float64) {
	v.checkf(perSecond == 0 || perSecond >= slowestRate && perSecond <= fastestRate, key,
		"is %v: must be 0 (no limit), or from %v to %v", perSecond, slowestRate, fastestRate)
}

// validate checks the channel itself; whether the providers named have accounts is checked by validateAccounts.
func (s SMSChannel) validate(v *validator) {
	v.positive("channels.sms.timeout", s.Timeout)
	v.positive("channels.sms.ask_for", s.AskFor)
	v.one("channels.sms.when_unknown", s.WhenUnknown, Hold, Resend)
	v.checkf(s.HoldMax > s.AskFor, "channels.sms.hold_max", "is %s: must be longer than ask_for (%s)", s.HoldMax, s.AskFor)
	for i, name := range s.Providers {
		v.one("channels.sms.providers", name, ProviderAliyun, ProviderTencent)
		v.checkf(!slices.Contains(s.Providers[:i], name), "channels.sms.providers", "names %s twice", name)
	}
	v.baseURL("channels.sms.aliyun.endpoint", s.Aliyun.Endpoint)
	v.baseURL("channels.sms.tencent.endpoint", s.Tencent.Endpoint)
	v.checkf(s.Aliyun.MaxVariable >= 0, "channels.sms.aliyun.max_variable", "is %d: must be 0 (no limit) or more", s.Aliyun.MaxVariable)
	v.checkf(s.Tencent.MaxVariable >= 0, "channels.sms.tencent.max_variable", "is %d: must be 0 (no limit) or more", s.Tencent.MaxVariable)
	v.rate("channels.sms.aliyun.rate", s.Aliyun.Rate)
	v.rate("channels.sms.tencent.rate", s.Tencent.Rate)
}

// validateAccounts checks that what is to be sent by has an account: each SMS provider named, and WeChat where a push
// uses it.
func (c *Config) validateAccounts(v *validator) {
	sms, wechat := c.Channels.SMS, c.Channels.WeChat
	if slices.Contains(sms.Providers, ProviderAliyun) {
		v.account("channels.sms.aliyun", []setting{
			{"access_key_id", sms.Aliyun.AccessKeyID}, {"access_key_secret", sms.Aliyun.AccessKeySecret.Reveal()},
			{"sign_name", sms.Aliyun.SignName}, {"region", sms.Aliyun.Region},
		})
	}
	if slices.Contains(sms.Providers, ProviderTencent) {
		v.account("channels.sms.tencent", []setting{
			{"secret_id", sms.Tencent.SecretID}, {"secret_key", sms.Tencent.SecretKey.Reveal()},
			{"sdk_app_id", sms.Tencent.SDKAppID}, {"sign_name", sms.Tencent.SignName}, {"region", sms.Tencent.Region},
		})
	}
	if wechat.AppID != "" || wechat.AppSecret != "" || c.uses(func(a PushActions) bool { return a.WeChat != nil }) {
		v.account("channels.wechat", []setting{{"app_id", wechat.AppID}, {"app_secret", wechat.AppSecret.Reveal()}})
	}
}

// setting is one required value of an account.
type setting struct{ name, value string }

// account checks that nothing a request needs is empty.
func (v *validator) account(section string, required []setting) {
	for _, s := range required {
		v.checkf(s.value != "", section+"."+s.name, "is missing: no message can be sent without it")
	}
}

// uses reports whether some push has such actions.
func (c *Config) uses(has func(PushActions) bool) bool {
	for _, p := range c.Pushes {
		if has(p.Actions) {
			return true
		}
	}
	return false
}

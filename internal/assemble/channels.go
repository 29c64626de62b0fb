package assemble

import (
	"pusher/internal/channels"
	"pusher/internal/channels/notify"
	"pusher/internal/channels/sms/aliyun"
	"pusher/internal/channels/sms/tencent"
	"pusher/internal/channels/wechat"
	"pusher/internal/config"
)

// Notify makes the in-app sender with the templates of every push.
func Notify(c *config.Config) (*notify.Sender, error) {
	templates := map[string]notify.Template{}
	for name, p := range c.Pushes {
		if t := p.Actions.Notify; t != nil {
			templates[name] = notify.Template{Title: t.Title, Body: t.Body}
		}
	}
	return notify.New(notify.Config{Templates: templates})
}

// Aliyun makes the sender of the Aliyun account, with the templates of every push. Close it in the end.
func Aliyun(c *config.Config) (*aliyun.Sender, error) {
	templates := map[string]aliyun.Template{}
	for name, p := range c.Pushes {
		if p.Actions.SMS != nil && p.Actions.SMS.Aliyun != nil {
			t := p.Actions.SMS.Aliyun
			templates[name] = aliyun.Template{Code: t.Template, Params: p.Actions.SMS.AliyunParams()}
		}
	}
	a := c.Channels.SMS.Aliyun
	return aliyun.New(aliyun.Config{
		Endpoint: a.Endpoint, Region: a.Region, AccessKeyID: a.AccessKeyID, AccessKeySecret: a.AccessKeySecret.Reveal(),
		SignName: a.SignName, Timeout: c.Channels.SMS.Timeout, Templates: templates,
		Values: limit(c, a.MaxVariable, a.AllowURLs),
	})
}

// limit is what a variable of an SMS may be.
func limit(c *config.Config, most int, urls bool) channels.Limit {
	return channels.Limit{Most: most, URLs: urls, Shorten: c.Channels.SMS.Shorten}
}

// Tencent makes the sender of the Tencent account, with the templates of every push. Its questions take their turns from
// all, which all processes share; nil: it keeps to the limit alone. Close it in the end.
func Tencent(c *config.Config, all tencent.Turns) (*tencent.Sender, error) {
	templates := map[string]tencent.Template{}
	for name, p := range c.Pushes {
		if p.Actions.SMS != nil && p.Actions.SMS.Tencent != nil {
			t := p.Actions.SMS.Tencent
			templates[name] = tencent.Template{ID: t.Template, Params: p.Actions.SMS.TencentParams()}
		}
	}
	a := c.Channels.SMS.Tencent
	return tencent.New(tencent.Config{
		Endpoint: a.Endpoint, Region: a.Region, SecretID: a.SecretID, SecretKey: a.SecretKey.Reveal(),
		SDKAppID: a.SDKAppID, SignName: a.SignName, Timeout: c.Channels.SMS.Timeout, Templates: templates,
		Values: limit(c, a.MaxVariable, a.AllowURLs), Turns: all,
	})
}

// WeChat makes the sender of the official account, with the templates of every push. Its forced tokens come from the
// ration, which all processes share; nil: it forces none. Close it in the end.
func WeChat(c *config.Config, ration wechat.Ration) (*wechat.Sender, error) {
	templates := map[string]wechat.Template{}
	for name, p := range c.Pushes {
		if t := p.Actions.WeChat; t != nil {
			templates[name] = wechat.Template{ID: t.Template, URL: t.URL, Data: t.Data}
		}
	}
	a := c.Channels.WeChat
	return wechat.New(wechat.Config{
		Endpoint: a.Endpoint, AppID: a.AppID, AppSecret: a.AppSecret.Reveal(), Timeout: a.Timeout, Templates: templates,
		Shorten: a.Shorten, Ration: ration,
	})
}

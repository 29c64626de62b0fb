package config

import (
	"slices"
	"time"

	"pusher/internal/push"
)

// Push is one configured kind of event: how its facts are told apart and what each channel says.
type Push struct {
	Version string      `yaml:"version"` // v1, v2, ...; a new one makes old facts news [v1]
	Dedup   PushDedup   `yaml:"dedup"`
	Actions PushActions `yaml:"actions"` // the channels configured here are the push's channels

	// Sample is an event's params, with which `pusher check` tries every text of the push; empty: it is not tried.
	Sample map[string]string `yaml:"sample"`
}

// PushDedup is what makes two events the same fact.
type PushDedup struct {
	By     By            `yaml:"by"`     // biz_id, digest, or a list of fields [biz_id]
	Window time.Duration `yaml:"window"` // [dedup.window]
}

// By is the value of dedup.by as written: one word, or a list of field paths.
type By []string

// PushActions is what each channel says; nil where the push does not use it.
type PushActions struct {
	Notify *NotifyTemplate `yaml:"notify"`
	SMS    *SMSTemplates   `yaml:"sms"`
	WeChat *WeChatTemplate `yaml:"wechat"`
}

// NotifyTemplate is an in-app message; both texts are templates.
type NotifyTemplate struct {
	Title string `yaml:"title"`
	Body  string `yaml:"body"`
}

// SMSTemplates names each provider's own registered template. The variables are declared once, in Params, or by each
// provider in its own way.
type SMSTemplates struct {
	Params  map[string]string `yaml:"params"` // for every provider that has none of its own
	Aliyun  *AliyunTemplate   `yaml:"aliyun"`
	Tencent *TencentTemplate  `yaml:"tencent"`
}

// AliyunTemplate is a template of Aliyun with named parameters.
type AliyunTemplate struct {
	Template string            `yaml:"template"`
	Params   map[string]string `yaml:"params"`
}

// TencentTemplate is a template of Tencent with parameters by position.
type TencentTemplate struct {
	Template string   `yaml:"template"`
	Params   []string `yaml:"params"`
	Order    []string `yaml:"order"` // instead of params: the names in sms.params, by position
}

// WeChatTemplate is a template of the official account; url and data are templates themselves.
type WeChatTemplate struct {
	Template string            `yaml:"template"`
	URL      string            `yaml:"url"`
	Data     map[string]string `yaml:"data"`
}

// List returns the push's channels, in the order in which an event without actions gets them.
func (a PushActions) List() []push.Action {
	configured := map[push.Action]bool{push.Notify: a.Notify != nil, push.SMS: a.SMS != nil, push.WeChat: a.WeChat != nil}
	return slices.DeleteFunc(push.Actions(), func(action push.Action) bool { return !configured[action] })
}

// Has reports whether there is a template for the provider.
func (s SMSTemplates) Has(provider string) bool {
	return provider == ProviderAliyun && s.Aliyun != nil || provider == ProviderTencent && s.Tencent != nil
}

// AliyunParams are the params of Aliyun's template: its own, else those declared once. Nil without a template.
func (s SMSTemplates) AliyunParams() map[string]string {
	switch {
	case s.Aliyun == nil:
		return nil
	case s.Aliyun.Params != nil:
		return s.Aliyun.Params
	}
	return s.Params
}

// TencentParams are the params of Tencent's template by position: its own, else those declared once, in its order.
// Nil without a template.
func (s SMSTemplates) TencentParams() []string {
	switch {
	case s.Tencent == nil:
		return nil
	case s.Tencent.Params != nil:
		return s.Tencent.Params
	}
	params := make([]string, len(s.Tencent.Order))
	for i, name := range s.Tencent.Order {
		params[i] = s.Params[name]
	}
	return params
}

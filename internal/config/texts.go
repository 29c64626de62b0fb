package config

import (
	"fmt"
	"maps"
	"slices"
)

// CheckTexts lets compile see every template text of the pushes and returns what it refuses as an *Error with key and
// line. What a template may say is the channels' business; where it was said is known here.
func (c *Config) CheckTexts(compile func(key, text string) error) error {
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(c.Pushes)) {
		texts := c.Pushes[name].Actions.texts()
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			if err := compile(key, texts[key]); err != nil {
				problems = append(problems, c.places.problem("pushes."+name+".actions."+key, "%v", err))
			}
		}
	}
	return asError(problems)
}

// texts lists the templates by their keys below actions.
func (a PushActions) texts() map[string]string {
	texts := map[string]string{}
	put := func(prefix string, values map[string]string) {
		for name, text := range values {
			texts[prefix+name] = text
		}
	}
	if a.Notify != nil {
		put("notify.", map[string]string{"title": a.Notify.Title, "body": a.Notify.Body})
	}
	if a.WeChat != nil {
		put("wechat.", map[string]string{"url": a.WeChat.URL})
		put("wechat.data.", a.WeChat.Data)
	}
	if a.SMS != nil {
		put("sms.params.", a.SMS.Params)
	}
	if a.SMS != nil && a.SMS.Aliyun != nil {
		put("sms.aliyun.params.", a.SMS.Aliyun.Params)
	}
	if a.SMS != nil && a.SMS.Tencent != nil {
		for i, text := range a.SMS.Tencent.Params {
			texts[fmt.Sprintf("sms.tencent.params.%d", i)] = text
		}
	}
	return texts
}

package config

import (
	"errors"
	"slices"
	"testing"
)

func TestTextsThatDoNotCompileAreProblemsWithKeyAndLine(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, valid+`  other:
    actions:
      notify: {title: Title}
      sms: {params: {name: a}, aliyun: {template: t}, tencent: {template: "1", params: [a, b]}}
`)
	var seen []string
	err := c.CheckTexts(func(key, text string) error {
		seen = append(seen, key)
		if text == "b" || text == "Seen" {
			return errors.New("does not compile")
		}
		return nil
	})
	var e *Error
	if !errors.As(err, &e) || len(e.Problems) != 2 {
		t.Fatalf("got %v", err)
	}
	first, second := e.Problems[0], e.Problems[1]
	if first.Key != "pushes.resume_viewed.actions.notify.title" || first.Line != 10 {
		t.Errorf("got %+v", first)
	}
	if second.Key != "pushes.other.actions.sms.tencent.params.1" || second.Line != 16 {
		t.Errorf("got %+v", second)
	}
	for _, key := range []string{"wechat.data.thing1", "wechat.url", "sms.aliyun.params.company", "sms.params.name", "notify.body"} {
		if !slices.Contains(seen, key) {
			t.Errorf("%s was not looked at: %v", key, seen)
		}
	}
	if err := c.CheckTexts(func(string, string) error { return nil }); err != nil {
		t.Error(err)
	}
}

package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

const example = "../../deploy/pusher.example.yaml"

// TestExampleFileHoldsEveryKey keeps deploy/pusher.example.yaml and the structs together: it loads, and every key is
// in it; the twins of secrets at least in a comment.
func TestExampleFileHoldsEveryKey(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(example, environment(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var optional, twins []string
	for _, l := range leaves(reflect.ValueOf(c).Elem(), "") {
		if _, ok := c.places[l.key]; !ok {
			optional = append(optional, l.key)
		}
		last := l.key[strings.LastIndexByte(l.key, '.')+1:]
		if isSecret(l.value.Type()) && !regexp.MustCompile(`(?m)^ +# `+last+`_file: `).Match(text) {
			twins = append(twins, l.key+fileSuffix)
		}
	}
	if len(optional) > 0 || len(twins) > 0 {
		t.Errorf("the example lacks %v %v", optional, twins)
	}
	for _, key := range []string{
		"version", "dedup.by", "dedup.window", "actions.notify.title", "actions.notify.body", "actions.sms.aliyun.template",
		"actions.sms.aliyun.params", "actions.sms.tencent.template", "actions.sms.tencent.params", "actions.wechat.template",
		"actions.wechat.url", "actions.wechat.data", "sample",
	} {
		if _, ok := c.places["pushes.resume_viewed."+key]; !ok {
			t.Errorf("the example lacks pushes.*.%s", key)
		}
	}
	for _, key := range []string{"params", "tencent.order"} {
		if _, ok := c.places["pushes.interview_invited.actions.sms."+key]; !ok {
			t.Errorf("the example lacks pushes.*.actions.sms.%s", key)
		}
	}
}

// TestExampleFileShowsTheDefaults: what the example does not mark as an example is what an empty file gives.
func TestExampleFileShowsTheDefaults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	c, _, err := Load(example, environment(), nil)
	if err != nil {
		t.Fatal(err)
	}
	empty := Default()
	empty.complete()
	want := leaves(reflect.ValueOf(empty).Elem(), "")
	for i, l := range leaves(reflect.ValueOf(c).Elem(), "") {
		line := lines[c.places[l.key].line-1]
		marked := strings.Contains(line, "example") || l.key == "channels.sms.providers"
		if !marked && !reflect.DeepEqual(l.value.Interface(), want[i].value.Interface()) {
			t.Errorf("%s is %v, its default %v", l.key, l.value, want[i].value)
		}
	}
}

package config

import (
	"maps"
	"slices"
	"testing"
)

// One declaration serves both providers: Aliyun by name, Tencent by position; a provider's own params win.
func TestSMSParamsDeclaredOnce(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, valid+`  once:
    actions:
      sms:
        params: {company: "{{.company}}", job: "{{.position}}", unused: x}
        aliyun: {template: SMS_2}
        tencent: {template: "2", order: [job, company]}
  own:
    actions:
      sms:
        params: {company: "{{.company}}"}
        aliyun: {template: SMS_3, params: {name: n}}
        tencent: {template: "3", params: [n]}
  none:
    actions:
      sms: {aliyun: {template: SMS_4}, tencent: {template: "4"}}
`)
	for name, want := range map[string]struct {
		named    map[string]string
		position []string
	}{
		"once":          {map[string]string{"company": "{{.company}}", "job": "{{.position}}", "unused": "x"}, []string{"{{.position}}", "{{.company}}"}},
		"own":           {map[string]string{"name": "n"}, []string{"n"}},
		"none":          {nil, nil},
		"resume_viewed": {map[string]string{"company": "{{.company}}"}, nil},
	} {
		sms := c.Pushes[name].Actions.SMS
		if named, position := sms.AliyunParams(), sms.TencentParams(); !maps.Equal(named, want.named) || !slices.Equal(position, want.position) {
			t.Errorf("%s: %v and %v, want %+v", name, named, position, want)
		}
	}
}

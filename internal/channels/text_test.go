package channels

import (
	"strings"
	"testing"

	"pusher/internal/push"
)

func TestRender(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"company": "Acme & <Co>", "empty": "", "n": "9007199254740993"}
	for source, want := range map[string]string{
		"":                                  "",
		"plain":                             "plain",
		"{{.company}} viewed":               "Acme & <Co> viewed",
		"{{.n}}":                            "9007199254740993",
		"[{{.empty}}]":                      "[]",
		`{{if eq .n "1"}}a{{else}}b{{end}}`: "b",
		"{{urlquery .company}}":             "Acme+%26+%3CCo%3E",
	} {
		text, err := Compile("t", source)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := text.Render(vars); err != nil || got != want {
			t.Errorf("%s renders %q, %v; want %q", source, got, err, want)
		}
	}
}

func TestCompileNamesThePlace(t *testing.T) {
	t.Parallel()
	_, err := Compile("resume_viewed.sms.aliyun.params.company", "{{.company")
	if err == nil || !strings.Contains(err.Error(), "resume_viewed.sms.aliyun.params.company") {
		t.Errorf("error %v does not name the place", err)
	}
	if _, err := CompileAll("p", map[string]string{"ok": "x", "bad": "{{end}}"}); err == nil || !strings.Contains(err.Error(), "p.bad") {
		t.Errorf("error %v does not name the key", err)
	}
}

func TestRenderFailsForGood(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]struct{ code, says string }{
		"{{.company}} {{.job}}":   {CodeVariableMissing, `p.x: the event has no variable "job"`},
		"{{if .job}}x{{end}}":     {CodeVariableMissing, `"job"`},
		"{{.company.name}}":       {CodeTemplateFailed, ""},
		"{{index .company 99}}":   {CodeTemplateFailed, ""},
		"{{slice .company 5 99}}": {CodeTemplateFailed, ""},
		`{{template "p.x" .}}`:    {CodeTemplateFailed, ""},
	} {
		text, err := Compile("p.x", source)
		if err != nil {
			t.Fatal(err)
		}
		_, err = text.Render(map[string]string{"company": "Acme"})
		f := push.FailureOf(err)
		if err == nil || f.Class != push.Permanent || f.Code != want.code || !strings.Contains(f.Message, want.says) {
			t.Errorf("%s fails with %v, want permanent %s %s", source, err, want.code, want.says)
		}
	}
	text, _ := Compile("p.x", "{{.company}}")
	if _, err := text.Render(nil); push.FailureOf(err).Code != CodeVariableMissing {
		t.Errorf("without variables: %v", err)
	}
}

// A template that makes rendering panic ends one message, not the process.
func TestRenderSurvivesAPanic(t *testing.T) {
	t.Parallel()
	err := guard(func() error { panic("with a secret inside") })
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatalf("error %v, want one without the panic's value", err)
	}
	text, compileErr := Compile("t", "{{call .x}}")
	if compileErr != nil {
		t.Fatal(compileErr)
	}
	_, err = text.Render(map[string]string{"x": "not a function"})
	if f := push.FailureOf(err); f.Class != push.Permanent {
		t.Errorf("%v, want permanent", err)
	}
}

func TestJSONKeepsSigns(t *testing.T) {
	t.Parallel()
	if got := string(JSON(map[string]string{"a": `<A&B> \u0026`})); got != `{"a":"<A&B> \\u0026"}` {
		t.Errorf("JSON is %s", got)
	}
}

func TestVariablesOfAText(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"plain":                                     "",
		"{{.b}} {{.a}} {{.b}}":                      "a b",
		"{{if .x}}{{.y}}{{else}}{{$.z}}{{end}}":     "x y z",
		"{{with $v := .x}}{{$v}}{{$.y}}{{end}}":     "x y",
		`{{urlquery (printf "%s-%s" .x .y) | len}}`: "x y",
		"{{range .x}}{{end}}":                       "x",
	} {
		text, err := Compile("t", source)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(text.Variables(), " "); got != want {
			t.Errorf("%s names %q, want %q", source, got, want)
		}
	}
	if empty, _ := Compile("t", ""); len(empty.Variables()) != 0 {
		t.Error("an empty text names variables")
	}
}

func TestRenderCheckedSaysWhere(t *testing.T) {
	t.Parallel()
	text, err := Compile("p.sms.aliyun.params.s", "{{.s}}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = text.RenderChecked(map[string]string{"s": "too long"}, Limit{Most: 3}.Check)
	if f := push.FailureOf(err); f.Code != CodeValueTooLong || !strings.HasPrefix(f.Message, "p.sms.aliyun.params.s: 8 characters") {
		t.Errorf("%v does not say where", err)
	}
}

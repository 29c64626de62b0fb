package channels

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"pusher/internal/push"
)

// The codes of a message that cannot be written.
const (
	CodeVariableMissing = "template_variable_missing"
	CodeTemplatePanic   = "template_panic"
	CodeTemplateFailed  = "template_failed"
	CodeNoTemplate      = "template_not_configured"
)

var missingKey = regexp.MustCompile(`map has no entry for key ("[^"]*")`)

// Text is one text of a message: a text/template over the event's variables, such as
// "{{.company}} viewed your resume".
type Text struct {
	template *template.Template
	plain    bool    // it is nothing but words and variables:
	parts    []piece // these
}

// Compile reads a template; name is where it stands in the configuration, for errors.
func Compile(name, source string) (*Text, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(source)
	if err != nil {
		return nil, fmt.Errorf("compiling a template: %w", err)
	}
	text := &Text{template: t}
	text.parts, text.plain = pieces(t.Tree)
	return text, nil
}

// CompileAll reads the templates of one push, named "<where>.<key>".
func CompileAll(where string, sources map[string]string) (map[string]*Text, error) {
	texts := make(map[string]*Text, len(sources))
	for key, source := range sources {
		text, err := Compile(where+"."+key, source)
		if err != nil {
			return nil, err
		}
		texts[key] = text
	}
	return texts, nil
}

// Render writes the text. Its error is a *push.Failure of class Permanent: the same event never renders.
func (t *Text) Render(vars map[string]string) (string, error) {
	if t.plain {
		if text, ok := write(t.parts, vars); ok {
			return text, nil
		}
	}
	var out strings.Builder
	err := guard(func() error { return t.template.Execute(&out, vars) })
	if err == nil {
		return out.String(), nil
	}
	f := &push.Failure{Class: push.Permanent, Code: CodeTemplateFailed, Err: err}
	if _, panicked := errors.AsType[*panicError](err); panicked {
		f.Code = CodeTemplatePanic
	} else if missing := missingKey.FindStringSubmatch(err.Error()); missing != nil {
		f.Code, f.Err = CodeVariableMissing, nil
		f.Message = fmt.Sprintf("%s: the event has no variable %s", t.template.Name(), missing[1])
	}
	return "", f
}

// RenderChecked writes the text as Render does and lets check see it; its words are headed by where the text stands.
func (t *Text) RenderChecked(vars map[string]string, check Check) (string, error) {
	value, err := t.Render(vars)
	if err != nil {
		return "", err
	}
	value, f := check(value)
	if f != nil {
		f.Message = t.template.Name() + ": " + f.Message
		return "", f
	}
	return value, nil
}

// RenderAll writes the texts under their keys, each checked by the check of its key.
func RenderAll(texts map[string]*Text, vars map[string]string, checkOf func(key string) Check) (map[string]string, error) {
	out := make(map[string]string, len(texts))
	for key, text := range texts {
		rendered, err := text.RenderChecked(vars, checkOf(key))
		if err != nil {
			return nil, err
		}
		out[key] = rendered
	}
	return out, nil
}

// NoTemplate is the failure of a message whose push has no template at this provider.
func NoTemplate(bizType string) *push.Failure {
	return &push.Failure{
		Class: push.Permanent, Scope: push.ScopeTemplate, Code: CodeNoTemplate,
		Message: "no template is configured here for " + bizType,
	}
}

// panicError is a panic that was caught; it keeps the value's type only, the value may hold anything.
type panicError struct{ of string }

// Error says what panicked.
func (p *panicError) Error() string { return "rendering panicked with a " + p.of }

// guard turns a panic of f into an error: one event's template must not end the process.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{of: fmt.Sprintf("%T", r)}
		}
	}()
	return f()
}

package channels

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyText is a text of any kind, those included that JSON escapes and that are not UTF-8.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "a\u2028b", "\u2029", "<&>", `"\`, "\x7f\x00", "\ufffd", "职位", "\xff", "line\nbreak"}))
}

// What is written without text/template is what text/template writes.
func TestPlainTextsAreWrittenAlike(t *testing.T) {
	t.Parallel()
	for source, plain := range map[string]bool{
		"": true, "words": true, "{{.a}}": true, "{{.a}} and {{ .b }}{{.a}}": true, "{{- .a }} trimmed {{ .b -}} ": true,
		"{{/* a comment */}}x": true, "{{$.a}}": false, "{{.a | printf}}": false, "{{$x := .a}}{{$x}}": false, "{{if .a}}{{.b}}{{end}}": false,
		`{{"a"}}`: false, "{{.}}": false, `{{define "other"}}{{.a}}{{end}}{{.b}}`: true,
	} {
		text, err := Compile("t", source)
		if err != nil {
			t.Fatal(err)
		}
		if text.plain != plain {
			t.Errorf("%q is plain: %v", source, text.plain)
		}
		rapid.Check(t, func(r *rapid.T) {
			vars := rapid.MapOf(rapid.SampledFrom([]string{"a", "b"}), anyText()).Draw(r, "vars")
			var want strings.Builder
			failed := text.template.Execute(&want, vars) != nil
			got, err := text.Render(vars)
			if failed != (err != nil) || !failed && got != want.String() {
				r.Errorf("%q of %q renders %q, %v; want %q", source, vars, got, err, want.String())
			}
		})
	}
}

func TestTextsAreEncodedAsJSONAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		texts := rapid.MapOf(anyText(), anyText()).Draw(r, "texts")
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(texts); err != nil {
			r.Fatal(err)
		}
		if got := JSON(texts); string(got) != strings.TrimSuffix(want.String(), "\n") {
			r.Errorf("%q is %s, want %s", texts, got, want.String())
		}
	})
}

func BenchmarkRender(b *testing.B) {
	vars := map[string]string{"company": "Example Trading Co.", "position": "Sales manager", "biz_id": "1"}
	for name, source := range map[string]string{
		"plain": "{{.company}} viewed your resume for {{.position}}", "other": "{{$.company}} viewed your resume for {{.position}}",
	} {
		b.Run(name, func(b *testing.B) {
			text, err := Compile("t", source)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = text.Render(vars)
			}
		})
	}
}

package gateway

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
)

var (
	//go:embed page/page.html
	pageText string
	//go:embed page/style.css
	styleText []byte
)

// view is the document as the page shows it.
type view struct {
	Info struct {
		Title       string `json:"title"`
		Summary     string `json:"summary"`
		Description string `json:"description"`
	}
	Operations []operation
	Schemas    []body
	Problems   []kind
}

// operation is one method of one path.
type operation struct {
	Method, Path         string
	Summary, Description string
	Parameters           []parameter
	Bodies               []body
	Answers              []outcome
}

type parameter struct{ Name, In, Description string }

// body is a content type, or a schema's name, with what it looks like.
type body struct{ Type, Example, Schema string }

type outcome struct{ Status, Description string }

// render makes the page.
func render(spec []byte) ([]byte, error) {
	var doc map[string]any
	var v view
	if err := json.Unmarshal(spec, &doc); err != nil {
		return nil, err
	}
	info, err := json.Marshal(doc["info"])
	if err == nil {
		err = json.Unmarshal(info, &v.Info)
	}
	if err != nil {
		return nil, err
	}
	for path, methods := range sorted(doc["paths"]) {
		for method, described := range sorted(methods) {
			v.Operations = append(v.Operations, operationOf(doc, strings.ToUpper(method), path, described))
		}
	}
	for name, schema := range sorted(at(doc, "components", "schemas")) {
		v.Schemas = append(v.Schemas, body{Type: name, Schema: indented(schema)})
	}
	v.Problems = kinds()
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, v)
	return out.Bytes(), err
}

func operationOf(doc map[string]any, method, path string, described any) operation {
	o := operation{Method: method, Path: path, Summary: text(described, "summary"), Description: text(described, "description")}
	parameters, _ := at(described, "parameters").([]any)
	for _, p := range parameters {
		p = followed(doc, p)
		o.Parameters = append(o.Parameters, parameter{text(p, "name"), text(p, "in"), text(p, "description")})
	}
	for name, content := range sorted(at(described, "requestBody", "content")) {
		b := body{Type: name, Schema: indented(at(content, "schema"))}
		for _, example := range sorted(at(content, "examples")) {
			b.Example = indented(at(example, "value"))
		}
		o.Bodies = append(o.Bodies, b)
	}
	for status, answer := range sorted(at(described, "responses")) {
		o.Answers = append(o.Answers, outcome{status, text(followed(doc, answer), "description")})
	}
	return o
}

// followed is what a reference within the document stands for; another value stands for itself.
func followed(doc map[string]any, v any) any {
	if ref := text(v, "$ref"); ref != "" {
		return at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return v
}

func text(v any, names ...string) string {
	s, _ := at(v, names...).(string)
	return s
}

// indented is a JSON value for people; a text stands for itself.
func indented(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	out, _ := json.MarshalIndent(v, "", "  ") // read from JSON
	return string(out)
}

// sorted gives an object's members by name.
func sorted(v any) func(yield func(string, any) bool) {
	object, _ := v.(map[string]any)
	return func(yield func(string, any) bool) {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !yield(name, object[name]) {
				return
			}
		}
	}
}

func (g *Gateway) servesPage(w http.ResponseWriter, _ *http.Request) {
	serve(w, "text/html; charset=utf-8", g.page)
}

func servesStyle(w http.ResponseWriter, _ *http.Request) {
	serve(w, "text/css; charset=utf-8", styleText)
}

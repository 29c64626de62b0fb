package config

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder reads a YAML tree into the structs and collects every mistake with its line, where the library's own
// decoding keeps neither keys nor defaults in view.
type decoder struct {
	path     string
	places   places
	files    map[string]string // key of a secret to the file that holds it
	problems []Problem
}

// newDecoder makes a decoder for the file at path.
func newDecoder(path string) *decoder {
	return &decoder{path: path, files: map[string]string{}, places: places{"": {source: path}}}
}

// decode reads the text of the file into c.
func (d *decoder) decode(text []byte, c *Config) {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for seen := false; ; seen = true {
		var doc yaml.Node
		err := documents.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			d.syntax(text, err)
			return
		case seen:
			d.problemAtf(doc.Line, "", "a second document: one file holds one configuration")
			return
		default:
			d.value("", doc.Content[0], reflect.ValueOf(c).Elem())
		}
	}
}

var (
	// syntaxLine is where the library's words name a line; they name none for the first.
	syntaxLine = regexp.MustCompile(`^line (\d+): `)
	// noAnchor is the one mistake whose line the library never names.
	noAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax reports text that is no YAML; the library stops at the first such mistake.
func (d *decoder) syntax(text []byte, err error) {
	says, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if m := syntaxLine.FindStringSubmatch(says); m != nil {
		line, _ = strconv.Atoi(m[1])
		says = says[len(m[0]):]
	} else if m := noAnchor.FindStringSubmatch(says); m != nil {
		before, _, _ := bytes.Cut(text, []byte("*"+m[1]))
		line += bytes.Count(before, []byte("\n"))
	}
	if lines := bytes.Split(text, []byte("\n")); line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t")) {
		says += ": indent by spaces, not tabs"
	}
	d.problemAtf(line, "", "is no YAML: %s", says)
}

// value reads one node. An empty one (null) leaves the default.
func (d *decoder) value(key string, node *yaml.Node, v reflect.Value) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.ShortTag() == "!!null" {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(key, node, v.Elem())
	case reflect.Struct:
		d.section(key, node, v)
	case reflect.Map:
		d.entries(key, node, v)
	case reflect.Slice:
		d.list(key, node, v)
	default:
		d.scalar(key, node, v)
	}
}

// pairs gives the entries of a mapping and notes where each stands.
func (d *decoder) pairs(key string, node *yaml.Node, each func(name, key string, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		d.problemAtf(node.Line, key, "must be a section, with keys of its own")
		return
	}
	seen := map[string]int{}
	for i := 0; i < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		sub := join(key, name.Value)
		switch first, again := seen[name.Value]; {
		case name.ShortTag() == "!!merge":
			d.problemAtf(name.Line, key, "merge keys (<<) are not read: write the keys out")
		case again:
			d.problemAtf(name.Line, sub, "is given already in line %d: keep one of the two", first)
		default:
			seen[name.Value] = name.Line
			d.places[sub] = place{source: d.path, line: name.Line}
			each(name.Value, sub, value)
		}
	}
}

// section reads a mapping whose keys are known, the twins of secrets among them.
func (d *decoder) section(key string, node *yaml.Node, v reflect.Value) {
	d.pairs(key, node, func(name, sub string, value *yaml.Node) {
		f, byFile, ok := field(v, name)
		switch {
		case !ok:
			d.problemAtf(d.places[sub].line, sub, "unknown key; the keys here are %s", names(v))
		case byFile:
			var path string
			d.value(sub, value, reflect.ValueOf(&path).Elem())
			d.files[strings.TrimSuffix(sub, fileSuffix)] = path
		default:
			d.value(sub, value, f)
		}
	})
}

// entries reads a mapping whose keys are names of the user's own.
func (d *decoder) entries(key string, node *yaml.Node, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(key, node, func(name, sub string, value *yaml.Node) {
		entry := reflect.New(v.Type().Elem()).Elem()
		d.value(sub, value, entry)
		v.SetMapIndex(reflect.ValueOf(name), entry)
	})
}

// list reads a list of texts; dedup.by may be one word instead.
func (d *decoder) list(key string, node *yaml.Node, v reflect.Value) {
	items := node.Content
	if v.Type() == reflect.TypeFor[By]() && node.Kind == yaml.ScalarNode {
		items = []*yaml.Node{node}
	} else if node.Kind != yaml.SequenceNode {
		d.problemAtf(node.Line, key, "must be a list, such as [a, b]")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		d.value(key, item, list.Index(i))
	}
	v.Set(list)
}

// scalar reads one value of the type that the setting has; YAML's own guess of a type must agree.
func (d *decoder) scalar(key string, node *yaml.Node, v reflect.Value) {
	var want, tags string
	switch {
	case isDuration(v.Type()):
		want, tags = "a duration with its unit, such as 500ms, 30s or 24h", "!!str"
	case v.Kind() == reflect.String:
		want, tags = "a text: put it in quotes", "!!str"
	case v.Kind() == reflect.Bool:
		want, tags = "true or false, without quotes", "!!bool"
	case v.Kind() == reflect.Int:
		want, tags = "a whole number, without quotes", "!!int"
	default:
		want, tags = "a number, without quotes", "!!int !!float"
	}
	if node.Kind != yaml.ScalarNode || !strings.Contains(tags, node.ShortTag()) {
		d.problemAtf(node.Line, key, "must be %s", want)
		return
	}
	if err := set(v, node.Value); err != nil {
		d.problemAtf(node.Line, key, "%v", err)
	}
}

// problemAtf notes a problem at a line of the file.
func (d *decoder) problemAtf(line int, key, format string, args ...any) {
	p := places{key: {source: d.path, line: line}}.problem(key, format, args...)
	d.problems = append(d.problems, p)
}

// join puts a key behind its section's.
func join(section, name string) string {
	if section == "" {
		return name
	}
	return section + "." + name
}

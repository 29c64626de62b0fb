package push

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A member is one name and value of a JSON object.
type member struct {
	name  string // unquoted
	value string // JSON, as written
}

// An object is a JSON object in its order, names to the letter and repeats included; encoding/json alone would fold
// the case of names.
type object []member

// readObject reads text as one JSON object. Its errors are *PoisonError, with field as the place.
func readObject(text, field string) (object, error) {
	if o, ok := scan(text, usualMembers); ok {
		return o, nil
	}
	syntax := &json.SyntaxError{}
	if errors.As(json.Unmarshal([]byte(text), new(json.RawMessage)), &syntax) {
		at := strconv.FormatInt(syntax.Offset, 10)
		return nil, &PoisonError{ReasonNotJSON, field, "no JSON from byte " + at + " on; send one JSON object"}
	}
	return nil, &PoisonError{ReasonNotObject, field, "one JSON object is wanted here"}
}

// How many members an event has at most, as a rule, and an object in it.
const (
	usualMembers = 12
	usualInner   = 4
)

const jsonSpace = " \t\r\n"

// get returns the value of this name, of a repeated one the last; empty without one.
func (o object) get(name string) string {
	for _, m := range slices.Backward(o) {
		if m.name == name {
			return m.value
		}
	}
	return ""
}

// without takes the members of these names out of the object, which is used up.
func (o object) without(names ...string) object {
	return slices.DeleteFunc(o, func(m member) bool { return slices.Contains(names, m.name) })
}

// text writes the object, cleaned (see clean). In a name U+FFFD stands for NUL as well: dropping it could turn an
// unknown name into one of ours.
func (o object) text() []byte {
	size := len("{}")
	for _, m := range o {
		size += len(m.name) + len(m.value) + len(`"":,`)
	}
	text := append(make([]byte, 0, size), '{')
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendQuoted(text, strings.ReplaceAll(m.name, "\x00", "\uFFFD"))
		text = append(append(text, ':'), clean(m.value)...)
	}
	return append(text, '}')
}

// isNull reports whether a value is absent or null.
func isNull(raw string) bool { return len(raw) == 0 || raw[0] == 'n' }

// isNumber reports whether a valid JSON value is a number.
func isNumber(raw string) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// unquote reads a JSON string; false when raw is another type.
func unquote(raw string) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	var s string
	err := json.Unmarshal([]byte(raw), &s)
	return s, err == nil
}

// clean makes JSON text fit for PostgreSQL: escaped NULs are dropped and escaped lone surrogates become U+FFFD. It
// returns the text itself when there is nothing to clean. The text is valid JSON, so a backslash stands in a string.
func clean(text string) string {
	var out []byte // nil as long as nothing was cleaned
	kept := 0      // text up to here is in out
	replace := func(from, to int, with string) {
		out = append(append(out, text[kept:from]...), with...)
		kept = to
	}
	for i := 0; i < len(text); {
		next := strings.IndexByte(text[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		unit, ok := codeUnit(text[i:])
		switch {
		case !ok:
			i += 2
			continue
		case unit == 0:
			replace(i, i+6, "")
		case unit >= 0xD800 && unit < 0xDC00:
			if low, ok := codeUnit(text[i+6:]); ok && low >= 0xDC00 && low < 0xE000 {
				i += 6
			} else {
				replace(i, i+6, `\ufffd`)
			}
		case unit >= 0xDC00 && unit < 0xE000:
			replace(i, i+6, `\ufffd`)
		}
		i += 6
	}
	if out == nil && kept == 0 {
		return text
	}
	return string(append(out, text[kept:]...))
}

// codeUnit reads a \uXXXX escape at the start of text.
func codeUnit(text string) (uint64, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(text[2:6], 16, 16)
	return unit, err == nil
}

// depth is how deep the arrays and objects of JSON text are nested; of other text it is any number.
func depth(text string) int {
	deepest, open, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

// appendQuoted writes s as a JSON string in one way only, that of RFC 8785: what need not be escaped is not. The
// escapes of encoding/json have changed between Go releases, and a digest must not.
func appendQuoted(dst []byte, s string) []byte {
	const short = "\b\t\n\f\r\"\\"
	const letters = "btnfr\"\\"
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	if !strings.ContainsFunc(s, mustEscape) {
		return append(append(dst, s...), '"')
	}
	for _, r := range s {
		if i := strings.IndexRune(short, r); i >= 0 {
			dst = append(dst, '\\', letters[i])
		} else if r < ' ' {
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// mustEscape reports whether r cannot stand in a JSON string as it is; what is no rune at all is written as U+FFFD.
func mustEscape(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError }

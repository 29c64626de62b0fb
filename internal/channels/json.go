package channels

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// JSON is v as compact JSON with & < > as they are: providers show the escapes that encoding/json makes of them. v
// holds nothing but strings.
func JSON(v any) []byte {
	if texts, ok := v.(map[string]string); ok {
		return object(texts)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // strings always encode
	return bytes.TrimSpace(out.Bytes())
}

// object is JSON of a map of texts, written without reflection: every in-app message and every SMS has one.
func object(texts map[string]string) []byte {
	if texts == nil {
		return []byte("null")
	}
	size := 2
	for name, text := range texts {
		size += len(name) + len(text) + len(`"":"",`)
	}
	out := append(make([]byte, 0, size), '{')
	for i, name := range slices.Sorted(maps.Keys(texts)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(quoted(out, name), ':')
		out = quoted(out, texts[name])
	}
	return append(out, '}')
}

// quoted appends s as a JSON string.
func quoted(out []byte, s string) []byte {
	if asItIs(s) {
		return append(append(append(out, '"'), s...), '"')
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string always encodes
	return append(out, bytes.TrimSuffix(written.Bytes(), []byte("\n"))...)
}

// asItIs reports whether encoding/json would escape nothing of s.
func asItIs(s string) bool {
	for i, r := range s {
		switch r {
		case '"', '\\', '\u2028', '\u2029':
			return false
		case utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return false
			}
		default:
			if r < ' ' {
				return false
			}
		}
	}
	return true
}

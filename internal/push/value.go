package push

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxDigits bounds a number written out without its exponent; a longer one stays as written.
const maxDigits = 64

// Value is one template value: a string, a number with its digits, or a boolean.
type Value struct {
	text    string // the string itself, or the literal as written
	literal bool   // a number or boolean
}

// Text is the value of a string.
func Text(s string) Value { return Value{text: s} }

// ParseValue reads a JSON string (cleaned of NUL and lone surrogates), number or boolean; false for anything else.
func ParseValue(raw json.RawMessage) (Value, bool) {
	if !json.Valid(raw) {
		return Value{}, false
	}
	return parseValue(strings.Trim(string(raw), jsonSpace))
}

// parseValue is ParseValue of valid JSON without space around it.
func parseValue(raw string) (Value, bool) {
	if s, ok := unquote(clean(raw)); ok {
		return Value{text: s}, true
	}
	if isNumber(raw) || raw[0] == 't' || raw[0] == 'f' {
		return Value{text: raw, literal: true}, true
	}
	return Value{}, false
}

// String is the value as a template shows it: a number keeps its digits, and its exponent is written out (1e6 is
// 1000000, 1.5e-2 is 0.015) up to maxDigits digits.
func (v Value) String() string {
	if !v.literal {
		return v.text
	}
	mantissa, exponent, found := strings.Cut(strings.ToLower(v.text), "e")
	shift, err := strconv.Atoi(exponent)
	if !found || err != nil || shift > maxDigits || shift < -maxDigits {
		return v.text // without exponent, a boolean, or beyond reason
	}
	return writeOut(v.text, mantissa, shift)
}

// writeOut moves the decimal point of mantissa by shift places; written is the answer when that gets too long.
func writeOut(written, mantissa string, shift int) string {
	sign := ""
	if mantissa[0] == '-' {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	point := len(whole) + shift
	if max(len(digits), point, len(digits)-point) > maxDigits {
		return written
	}
	digits = strings.Repeat("0", max(0, 1-point)) + digits
	point = max(point, 1)
	digits += strings.Repeat("0", max(0, point-len(digits)))
	whole = strings.TrimLeft(digits[:point-1], "0") + digits[point-1:point]
	if fraction = digits[point:]; fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

// MarshalJSON writes the value as JSON, a number as it was written.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

func (v Value) appendJSON(dst []byte) []byte {
	if v.literal {
		return append(dst, v.text...)
	}
	return appendQuoted(dst, v.text)
}

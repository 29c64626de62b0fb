package channels

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"pusher/internal/push"
)

// The codes of a value that its provider would refuse. Only what a provider's own rules say is refused here; on
// everything else its answer decides.
const (
	CodeValueEmpty   = "template_value_empty"
	CodeValueTooLong = "template_value_too_long"
	CodeValueFormat  = "template_value_format"
	CodeValueURL     = "template_value_url"
)

// ellipsis ends a text that was shortened; it counts as one of its characters.
const ellipsis = "…"

var urlLike = regexp.MustCompile(`(?i)\bhttps?://|\bwww\.`)

// Check looks at a rendered value before it goes out: it returns the value, shortened where that is allowed, or why it
// cannot go.
type Check func(value string) (string, *push.Failure)

// Limit is what a provider takes as one value of an SMS template.
type Limit struct {
	Most    int  // characters, not bytes; 0: no limit is known
	URLs    bool // addresses may stand in a value
	Shorten bool // too long a text is shortened instead of refused
}

// Check refuses a value that the provider would refuse. A number is never shortened: it would be another one.
func (l Limit) Check(value string) (string, *push.Failure) {
	if !l.URLs && urlLike.MatchString(value) {
		return "", Refuse(CodeValueURL, "an address has no place in a variable")
	}
	switch length := utf8.RuneCountInString(value); {
	case l.Most == 0 || length <= l.Most:
		return value, nil
	case l.Shorten && !isDigits(value):
		return Shorten(value, l.Most), nil
	default:
		return "", TooLong(length, l.Most)
	}
}

// Shorten cuts a text to at most so many characters, the ellipsis at its end among them. What the reader sees as one
// sign (a family emoji, a letter with its accents) is kept or dropped as a whole.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	var kept strings.Builder
	left := most - utf8.RuneCountInString(ellipsis)
	for signs := uniseg.NewGraphemes(text); signs.Next(); {
		if left -= len(signs.Runes()); left < 0 {
			break
		}
		kept.WriteString(signs.Str())
	}
	return strings.TrimRight(kept.String(), " ") + ellipsis
}

// Refuse is the failure of a message whose value the provider would refuse; it must not quote the value, which may be
// personal.
func Refuse(code, format string, args ...any) *push.Failure {
	return &push.Failure{Class: push.Permanent, Code: code, Message: fmt.Sprintf(format, args...)}
}

// TooLong is the failure of a value with more characters than the provider takes.
func TooLong(length, most int) *push.Failure {
	return Refuse(CodeValueTooLong, "%d characters, %d at most", length, most)
}

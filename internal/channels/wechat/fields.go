package wechat

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"pusher/internal/channels"
	"pusher/internal/push"
)

// fieldName is a field of a category template: its type and its number.
var fieldName = regexp.MustCompile(`^([a-z_]+)[0-9]+$`)

// The forms of values, as WeChat's table of field types has them.
var (
	digitsForm  = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	lettersForm = regexp.MustCompile(`^[A-Za-z]+$`)
	symbolsForm = regexp.MustCompile(`^[^\p{L}\p{N}]+$`)
	noHanForm   = regexp.MustCompile(`^\P{Han}+$`)
	hanForm     = regexp.MustCompile(`^\p{Han}+$`)
	timeForm    = regexp.MustCompile(`[0-9]`) // spellings are many, and which of them pass is not said
	amountForm  = regexp.MustCompile(`^\D{0,3}[0-9][0-9,]{0,12}(\.[0-9]+)?元?$`)
	phoneForm   = regexp.MustCompile(`^[^\p{L}]*[0-9][^\p{L}]*$`)
	hanAnywhere = regexp.MustCompile(`\p{Han}`)
)

// rule is what WeChat takes in a field; a value beyond it is refused with 47003.
type rule struct {
	most int            // characters; 0: not said
	form *regexp.Regexp // nil: any
	says string         // the form in words
	text bool           // free text, which may be shortened
}

// ruleOf finds the rule of a field type; false for types whose rules are written nowhere.
func ruleOf(kind string) (rule, bool) {
	switch kind {
	case "thing":
		return rule{most: 20, text: true}, true
	case "character_string":
		return rule{most: 32, form: noHanForm, says: "letters, digits and symbols, no Chinese"}, true
	case "phrase":
		return rule{most: 5, form: hanForm, says: "Chinese characters alone"}, true
	case "number":
		return rule{most: 32, form: digitsForm, says: "a number"}, true
	case "letter":
		return rule{most: 32, form: lettersForm, says: "letters alone"}, true
	case "symbol":
		return rule{most: 5, form: symbolsForm, says: "symbols alone"}, true
	case "time", "date":
		return rule{form: timeForm, says: "a date or time, such as 2019年10月1日 15:01"}, true
	case "amount":
		return rule{form: amountForm, says: "a currency sign and up to 10 digits, such as ¥12.50"}, true
	case "phone_number":
		return rule{most: 17, form: phoneForm, says: "digits and symbols"}, true
	case "car_number":
		return rule{most: 8}, true
	case "name":
		return rule{most: 20}, true
	case "const", "enum", "short_thing":
		return rule{}, true // must not be empty; the rest is the template's own
	}
	return rule{}, false
}

// checkOf makes the check of a field by its name, such as thing1. A name without a type's number is one of an old
// template, or of a test account: WeChat checks nothing there, and neither do we.
func checkOf(shorten bool) func(name string) channels.Check {
	return func(name string) channels.Check {
		parts := fieldName.FindStringSubmatch(name)
		if parts == nil {
			return pass
		}
		r, known := ruleOf(parts[1])
		if !known {
			return pass
		}
		if parts[1] == "name" {
			return func(value string) (string, *push.Failure) { return nameRule(value).check(value, shorten) }
		}
		return func(value string) (string, *push.Failure) { return r.check(value, shorten) }
	}
}

func pass(value string) (string, *push.Failure) { return value, nil }

// nameRule: ten characters as soon as one is Chinese, else twenty.
func nameRule(value string) rule {
	if hanAnywhere.MatchString(value) {
		return rule{most: 10}
	}
	return rule{most: 20}
}

func (r rule) check(value string, shorten bool) (string, *push.Failure) {
	if shorten && r.text {
		words := strings.FieldsFunc(value, func(r rune) bool { return isBreak(r) || unicode.IsSpace(r) })
		value = channels.Shorten(strings.Join(words, " "), r.most)
	}
	length := utf8.RuneCountInString(value)
	switch {
	case strings.TrimSpace(value) == "":
		return "", channels.Refuse(channels.CodeValueEmpty, "the value is empty")
	case strings.ContainsFunc(value, isBreak):
		return "", channels.Refuse(channels.CodeValueFormat, "the value has line breaks or other control characters")
	case r.most > 0 && length > r.most:
		return "", channels.TooLong(length, r.most)
	case r.form != nil && !r.form.MatchString(value):
		return "", channels.Refuse(channels.CodeValueFormat, "the field takes %s", r.says)
	}
	return value, nil
}

// isBreak reports what must not stand in a field: control characters, Unicode's line separators among them.
func isBreak(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

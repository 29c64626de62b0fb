package push

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of an event (docs/contract.md, section 2). Ids of a recipient and event_id are bounded like a biz_id, so
// that every index can hold them.
const (
	MaxValue      = 1 << 20 // bytes of a record's value
	maxBizID      = 256     // bytes
	maxBizType    = 64      // bytes
	maxText       = 256     // characters of event_id and of each recipient field
	maxActions    = 64
	maxActionName = 64  // characters
	maxFaults     = 20  // that are told of one event
	maxDepth      = 100 // of nesting, in unknown fields: PostgreSQL reads JSON by recursion

	// retrySlack is how much a retry message may be longer than the event it was made from: the named action, the
	// recipient's integers in quotes, the id of a CloudEvent.
	retrySlack = 4 << 10

	byteOrderMark = "\uFEFF"
)

// Decode reads an event from a record: plain JSON or a CloudEvent in structured or binary mode. A record without
// value is ErrTombstone; one that cannot become an event is a *PoisonError, the first of its Faults.
func Decode(r Record) (*Event, error) {
	if len(r.Value) == 0 {
		return nil, ErrTombstone
	}
	limit := MaxValue
	if _, retry := r.Retry(); retry {
		limit += retrySlack
	}
	if len(r.Value) > limit {
		return nil, &PoisonError{ReasonTooLarge, "", "over 1 MiB; send a reference instead of the content"}
	}
	o, err := openText(r.Value)
	if err != nil {
		return nil, err
	}
	env := r.envelope()
	if r.isStructured(o) {
		if o, env, err = openStructured(o, env); err != nil {
			return nil, err
		}
	}
	return decode(o, env)
}

// openText reads a value as one JSON object in UTF-8, with or without a byte-order mark.
func openText(text []byte) (object, error) {
	if !utf8.Valid(text) {
		return nil, &PoisonError{ReasonNotUTF8, "", "the value is not UTF-8; encode it so"}
	}
	whole := string(text) // of which all that is read is a piece
	o, err := readObject(strings.TrimPrefix(whole, byteOrderMark), "")
	if err != nil && depth(whole) > maxDepth {
		return nil, &PoisonError{ReasonTooDeep, "", "nested deeper than 100; flatten it"}
	}
	return o, err
}

func decode(o object, env envelope) (*Event, error) {
	f := fields{object: o}
	e := &Event{
		BizType:     f.bizType(),
		BizID:       f.bizID(),
		Actions:     f.actions(),
		Recipient:   f.recipient(),
		Params:      f.params(),
		EventID:     f.text("event_id"),
		OccurredAt:  f.time("occurred_at"),
		NotBefore:   f.time("not_before"),
		ExpiresAt:   f.time("expires_at"),
		TraceParent: env.traceParent,
	}
	if len(f.faults) > 0 {
		return nil, f.faults.err()
	}
	o = o.without("recipient")
	if e.EventID == "" && isText(env.id) {
		e.EventID = env.id
		o = append(o.without("event_id"), quoted("event_id", env.id)) // a retry has no envelope
	}
	e.Raw = o.text()
	return e, nil
}

// fields reads an event's fields; faults keeps what was wrong, one a field.
type fields struct {
	object

	faults poisons
}

func (f *fields) fail(reason, field, detail string) {
	for _, p := range f.faults {
		if p.Field == field {
			return
		}
	}
	if len(f.faults) < maxFaults {
		f.faults = append(f.faults, &PoisonError{reason, field, detail})
	}
}

func (f *fields) bizType() string {
	raw := f.get("biz_type")
	s := f.id("biz_type", raw, false)
	switch {
	case s == "" && isNull(raw):
		f.fail(ReasonMissingField, "biz_type", "name the configured push that the event is for")
	case !isBizType(s):
		f.fail(ReasonWrongValue, "biz_type", "1 to 64 of a-z A-Z 0-9 _ . - are wanted")
	}
	return s
}

func (f *fields) bizID() string {
	raw := f.get("biz_id")
	s := f.id("biz_id", raw, true)
	switch {
	case s == "" && isNull(raw):
		f.fail(ReasonMissingField, "biz_id", "send the stable id of the event's subject; none is made up here")
	case s == "" || len(s) > maxBizID:
		f.fail(ReasonWrongValue, "biz_id", "1 to 256 bytes are wanted")
	}
	return s
}

// actions keeps unknown names: they are logged as skipped later, and the others go on.
func (f *fields) actions() []Action {
	raw := f.get("actions")
	if isNull(raw) {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(raw), &list); err != nil {
		f.fail(ReasonWrongType, "actions", "an array of action names is wanted")
		return nil
	}
	if len(list) == 0 || len(list) > maxActions {
		f.fail(ReasonWrongValue, "actions", "1 to 64 names are wanted; leave the field out for all channels")
		return nil
	}
	actions := make([]Action, 0, len(list))
	seen := make(map[string]bool, len(list))
	for i, item := range list {
		field := "actions[" + strconv.Itoa(i) + "]"
		name := f.id(field, string(item), false)
		if !isActionName(name) {
			f.fail(ReasonWrongValue, field, "an action's name of 1 to 64 characters is wanted")
		}
		if !seen[name] {
			seen[name] = true
			actions = append(actions, Action(name))
		}
	}
	return actions
}

func (f *fields) recipient() Recipient {
	inner := f.inner("recipient")
	return Recipient{
		UserID: f.address("recipient.user_id", inner.get("user_id")),
		Phone:  f.address("recipient.phone", clean(inner.get("phone"))), // no id: cleaned, not refused
		OpenID: f.address("recipient.openid", inner.get("openid")),
	}
}

func (f *fields) address(field, raw string) string {
	s := f.id(field, raw, true)
	if utf8.RuneCountInString(s) > maxText {
		f.fail(ReasonWrongValue, field, "at most 256 characters are wanted")
	}
	return s
}

func (f *fields) params() map[string]Value {
	inner := f.inner("params")
	params := make(map[string]Value, len(inner))
	for _, m := range slices.Backward(inner) {
		name := m.name
		if _, repeated := params[name]; repeated {
			continue
		}
		value, ok := parseValue(m.value)
		if strings.ContainsRune(name, 0) {
			f.fail(ReasonBadText, "params", "a NUL is in a name; a name cannot be cleaned")
		}
		if !ok {
			f.fail(ReasonWrongType, "params."+shorten(name),
				"a string, number or boolean is wanted; leave out what has no value")
		}
		params[name] = value
	}
	return params
}

// inner reads a field that holds an object; nil when it is absent.
func (f *fields) inner(field string) object {
	raw := f.get(field)
	if isNull(raw) {
		return nil
	}
	o, ok := scan(raw, usualInner)
	if !ok {
		f.fail(ReasonWrongType, field, "an object is wanted")
	}
	return o
}

// text reads an optional string that is an id.
func (f *fields) text(field string) string {
	s := f.id(field, f.get(field), false)
	if utf8.RuneCountInString(s) > maxText {
		f.fail(ReasonWrongValue, field, "at most 256 characters are wanted")
	}
	return s
}

// id reads an id: a string, or, where integers are welcome, the digits as written. Absent and null give "". 1e3,
// 12.0 and -0 are refused, since one number must not have two spellings.
func (f *fields) id(field, raw string, integers bool) string {
	if isNull(raw) {
		return ""
	}
	if s, ok := unquote(raw); ok {
		if clean(raw) != raw {
			f.fail(ReasonBadText, field, "a NUL or a lone surrogate is in it; an id cannot be cleaned")
		}
		return s
	}
	switch {
	case !integers:
		f.fail(ReasonWrongType, field, "a string is wanted")
	case !isNumber(raw):
		f.fail(ReasonWrongType, field, "a string or an integer is wanted")
	case strings.ContainsAny(raw, ".eE") || raw == "-0":
		f.fail(ReasonWrongValue, field, "an integer is wanted without fraction, exponent or negative zero; or a string")
	}
	return raw
}

// time reads an optional RFC 3339 time with zone. The zero time of Go (year 1) counts as absent.
func (f *fields) time(field string) time.Time {
	raw := f.get(field)
	if isNull(raw) {
		return time.Time{}
	}
	s, ok := unquote(raw)
	if !ok {
		f.fail(ReasonWrongType, field, "a string is wanted")
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !isRFC3339(s) {
		f.fail(ReasonWrongValue, field, "RFC 3339 with zone is wanted, such as 2026-01-31T08:00:00+08:00")
	}
	return t
}

// isText reports whether a text from an envelope may stand as event_id.
func isText(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxText && !strings.ContainsRune(s, 0)
}

// shorten bounds a name that the producer chose, for an error.
func shorten(name string) string {
	if r := []rune(name); len(r) > maxActionName {
		return string(r[:maxActionName]) + "..."
	}
	return name
}

// isBizType reports whether s could name a push: 1 to 64 of a-z A-Z 0-9 _ . -
func isBizType(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if !isDigit(c) && c != '_' && c != '.' && c != '-' {
				return false
			}
		}
	}
	return s != "" && len(s) <= maxBizType
}

// isRFC3339 holds a time that was read to the form that the schema wants too; Go's own parser also takes a comma, "T8:00"
// and "+24:00".
func isRFC3339(s string) bool {
	const form, zone = "0000-00-00T00:00:00", "+00:00"
	if len(s) <= len(form) || !hasForm(s[:len(form)], form) || s[len(form)-2] > '5' {
		return false
	}
	rest := s[len(form):]
	if rest[0] == '.' {
		rest = strings.TrimLeft(rest[1:], "0123456789")
		if rest == "" || !isDigit(s[len(form)+1]) {
			return false
		}
	}
	if rest == "Z" {
		return true
	}
	return len(rest) == len(zone) && (rest[0] == '-' || rest[0] == '+') && hasForm(rest[1:], zone[1:]) && rest[1:3] < "24" && rest[4] < '6'
}

// hasForm reports whether s has a digit wherever form has one, and else is form.
func hasForm(s, form string) bool {
	for i := range len(form) {
		if form[i] == '0' && !isDigit(s[i]) || form[i] != '0' && s[i] != form[i] {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

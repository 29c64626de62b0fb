package push

import (
	"bytes"
	"encoding/json"
	"regexp"
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
	maxText       = 256     // characters of event_id and of each recipient field
	maxActions    = 64
	maxActionName = 64  // characters
	maxDepth      = 100 // of nesting, in unknown fields: PostgreSQL reads JSON by recursion

	// retrySlack is how much a retry message may be longer than the event it was made from: the named action, the
	// recipient's integers in quotes, the id of a CloudEvent.
	retrySlack = 4 << 10

	byteOrderMark = "\uFEFF"
)

var (
	bizType = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

	// rfc3339 is the form that the schema wants too; Go's own parser also takes a comma, "T8:00" and "+24:00".
	rfc3339 = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9](\.[0-9]+)?` +
		`(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)
)

// Decode reads an event from a record: plain JSON or a CloudEvent in structured or binary mode. A record without
// value is ErrTombstone; one that cannot become an event is a *PoisonError.
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
	if depth(text) > maxDepth {
		return nil, &PoisonError{ReasonTooDeep, "", "nested deeper than 100; flatten it"}
	}
	return readObject(bytes.TrimPrefix(text, []byte(byteOrderMark)), "")
}

func decode(o object, env envelope) (*Event, error) {
	f := fields{values: o.last()}
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
	if f.err != nil {
		return nil, f.err
	}
	o = o.without("recipient")
	if e.EventID == "" && isText(env.id) {
		e.EventID = env.id
		o = append(o.without("event_id"), quoted("event_id", env.id)) // a retry has no envelope
	}
	e.Raw = o.text()
	return e, nil
}

// fields reads an event's fields; err keeps the first thing that was wrong.
type fields struct {
	values map[string]json.RawMessage
	err    error
}

func (f *fields) fail(reason, field, detail string) {
	if f.err == nil {
		f.err = &PoisonError{reason, field, detail}
	}
}

func (f *fields) bizType() string {
	s := f.id("biz_type", f.values["biz_type"], false)
	switch {
	case s == "" && isNull(f.values["biz_type"]):
		f.fail(ReasonMissingField, "biz_type", "name the configured push that the event is for")
	case !bizType.MatchString(s):
		f.fail(ReasonWrongValue, "biz_type", "1 to 64 of a-z A-Z 0-9 _ . - are wanted")
	}
	return s
}

func (f *fields) bizID() string {
	s := f.id("biz_id", f.values["biz_id"], true)
	switch {
	case s == "" && isNull(f.values["biz_id"]):
		f.fail(ReasonMissingField, "biz_id", "send the stable id of the event's subject; none is made up here")
	case s == "" || len(s) > maxBizID:
		f.fail(ReasonWrongValue, "biz_id", "1 to 256 bytes are wanted")
	}
	return s
}

// actions keeps unknown names: they are logged as skipped later, and the others go on.
func (f *fields) actions() []Action {
	raw := f.values["actions"]
	if isNull(raw) {
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
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
		name := f.id(field, item, false)
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
	inner := f.object("recipient", f.values["recipient"])
	return Recipient{
		UserID: f.address("recipient.user_id", inner["user_id"]),
		Phone:  f.address("recipient.phone", clean(inner["phone"])), // no id: cleaned, not refused
		OpenID: f.address("recipient.openid", inner["openid"]),
	}
}

func (f *fields) address(field string, raw json.RawMessage) string {
	s := f.id(field, raw, true)
	if utf8.RuneCountInString(s) > maxText {
		f.fail(ReasonWrongValue, field, "at most 256 characters are wanted")
	}
	return s
}

func (f *fields) params() map[string]Value {
	inner := f.object("params", f.values["params"])
	params := make(map[string]Value, len(inner))
	for name, raw := range inner {
		value, ok := parseValue(raw)
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

// object reads a field that holds an object; nil when it is absent.
func (f *fields) object(field string, raw json.RawMessage) map[string]json.RawMessage {
	if isNull(raw) {
		return nil
	}
	if raw[0] != '{' {
		f.fail(ReasonWrongType, field, "an object is wanted")
		return nil
	}
	return split(raw).last()
}

// text reads an optional string that is an id.
func (f *fields) text(field string) string {
	s := f.id(field, f.values[field], false)
	if utf8.RuneCountInString(s) > maxText {
		f.fail(ReasonWrongValue, field, "at most 256 characters are wanted")
	}
	return s
}

// id reads an id: a string, or, where integers are welcome, the digits as written. Absent and null give "". 1e3,
// 12.0 and -0 are refused, since one number must not have two spellings.
func (f *fields) id(field string, raw json.RawMessage, integers bool) string {
	if isNull(raw) {
		return ""
	}
	if s, ok := unquote(raw); ok {
		if !bytes.Equal(clean(raw), raw) {
			f.fail(ReasonBadText, field, "a NUL or a lone surrogate is in it; an id cannot be cleaned")
		}
		return s
	}
	switch {
	case !integers:
		f.fail(ReasonWrongType, field, "a string is wanted")
	case !isNumber(raw):
		f.fail(ReasonWrongType, field, "a string or an integer is wanted")
	case bytes.ContainsAny(raw, ".eE") || string(raw) == "-0":
		f.fail(ReasonWrongValue, field, "an integer is wanted without fraction, exponent or negative zero; or a string")
	}
	return string(raw)
}

// time reads an optional RFC 3339 time with zone. The zero time of Go (year 1) counts as absent.
func (f *fields) time(field string) time.Time {
	var t time.Time
	raw := f.values[field]
	if isNull(raw) {
		return t
	}
	s, ok := unquote(raw)
	if !ok {
		f.fail(ReasonWrongType, field, "a string is wanted")
	} else if err := t.UnmarshalText([]byte(s)); err != nil || !rfc3339.MatchString(s) {
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

package push

import (
	"errors"
	"testing"
)

// TestFieldReport06_TombstonesEmptyBodiesMissingIdentity: nothing panics, each bad one has its reason, and no id is
// ever made up.
func TestFieldReport06_TombstonesEmptyBodiesMissingIdentity(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Record{
		"null":              {},
		"null with headers": {Headers: value("", HeaderTraceParent, parent).Headers},
		"zero bytes":        {Value: []byte{}},
	} {
		if e, err := Decode(r); !errors.Is(err, ErrTombstone) || e != nil {
			t.Errorf("%s: %+v, %v, want a tombstone", name, e, err)
		}
	}
	for text, reason := range map[string]string{
		"   ":                          ReasonNotJSON,
		`null`:                         ReasonNotObject,
		`[]`:                           ReasonNotObject,
		`{}`:                           ReasonMissingField,
		`{"biz_type":"t"}`:             ReasonMissingField,
		`{"biz_type":"t","biz_id":""}`: ReasonWrongValue,
		event(`"actions":[]`):          ReasonWrongValue,
	} {
		for range 2 { // a redelivery says the same
			var poison *PoisonError
			if _, err := Decode(value(text)); !errors.As(err, &poison) || poison.Reason != reason {
				t.Errorf("%q: %v, want %s", text, err, reason)
			}
		}
	}
	if e := mustDecode(t, value(event(`"actions":null`))); e.Actions != nil {
		t.Errorf("actions null means %v, want all", e.Actions)
	}
	e := mustDecode(t, value(event(`"actions":["fax","sms"],"extra":{"x":null}`)))
	if len(e.Actions) != 2 || e.Actions[0].Known() || e.Actions[1] != SMS {
		t.Errorf("actions = %v, want the known one beside the unknown", e.Actions)
	}
}

// TestFieldReport09_ByteOrderMarkAndBrokenUTF8: a mark is tolerated, and two ids that differ in a broken byte are
// both refused, never taken for one.
func TestFieldReport09_ByteOrderMarkAndBrokenUTF8(t *testing.T) {
	t.Parallel()
	if e := mustDecode(t, value("\xef\xbb\xbf"+plain)); e.BizID != "9007199254740993" {
		t.Errorf("event = %+v", e)
	}
	for _, text := range []string{
		"{\"biz_type\":\"t\",\"biz_id\":\"a\xff\"}",
		"{\"biz_type\":\"t\",\"biz_id\":\"a\xfe\"}",
		"{\"biz_type\":\"t\",\"biz_id\":\"a\",\"x\":\"\xc3\"}",
		"{\"biz_type\":\"t\",\"biz_id\":\"a\xed\xa0\x80\"}", // a surrogate in UTF-8's clothes
	} {
		_, err := Decode(value(text))
		refuses(t, err, ReasonNotUTF8, "")
	}
}

// TestFieldReport29_TemplateValuesAreTextWithTheirDigits: the part about values; missing and over-long variables are
// the channels'.
func TestFieldReport29_TemplateValuesAreTextWithTheirDigits(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(event(`"params":{"code":123456,"zeros":"000123","exp":1e6,"ok":true,"text":"三\n🎉"}`)))
	vars := e.Vars()
	for name, want := range map[string]string{
		"code": "123456", "zeros": "000123", "exp": "1000000", "ok": "true", "text": "三\n🎉",
	} {
		if vars[name] != want {
			t.Errorf("%s shows as %q, want %q", name, vars[name], want)
		}
	}
	if _, there := vars["missing"]; there {
		t.Error("a missing variable is there")
	}
	if e := mustDecode(t, value(plain)); len(e.Vars()) != 2 {
		t.Errorf("without params: %v", e.Vars())
	}
	for _, params := range []string{`{"name":null}`, `{"name":{"first":"x"}}`} {
		_, err := Decode(value(event(`"params":` + params)))
		refuses(t, err, ReasonWrongType, "params.name")
	}
}

// TestFieldReport30_OnePhoneManySpellings: every spelling is one number, and one person where dedup.by says phone.
func TestFieldReport30_OnePhoneManySpellings(t *testing.T) {
	t.Parallel()
	rule := ruleBy(t, "recipient.phone")
	for _, spelling := range []string{
		"13800138000", "+86 138 0013 8000", "0086-138-0013-8000", "8613800138000", "１３８００１３８０００",
		"138\u00a00013\u00a08000", "138\u200b00138000", "138\u20110013\u20118000",
	} {
		if got, err := NormalizePhone(spelling, "CN"); err != nil || got != "+8613800138000" {
			t.Errorf("%q becomes %q, %v", spelling, got, err)
		}
		e := mustDecode(t, value(event(`"recipient":{"phone":"`+spelling+`"}`)))
		if id, err := rule.DedupID(e, recordTime); err != nil || id != "+8613800138000" {
			t.Errorf("%q is the fact %q, %v", spelling, id, err)
		}
	}
	if got, err := NormalizePhone("+12025550100", "CN"); err != nil || got != "+12025550100" {
		t.Errorf("a foreign number becomes %q, %v", got, err)
	}
	for _, bad := range []string{"1380013800", "phone", "138OO138OOO", ""} {
		if got, err := NormalizePhone(bad, "CN"); !errors.Is(err, ErrBadPhone) {
			t.Errorf("%q becomes %q, %v", bad, got, err)
		}
	}
}

package push

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// slowNumber is a number whose exponent the schema's validator would write out, digit by digit.
var slowNumber = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

// bizTypeForm and rfc3339Form are what the contract says of them.
var (
	bizTypeForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	rfc3339Form = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-5][0-9](\.[0-9]+)?` +
		`(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)
)

func FuzzForms(f *testing.F) {
	for _, seed := range []string{
		"", "resume_viewed", "a.b-C_9", "a\n", "a[", "a{", "a@", "\u212a", strings.Repeat("a", 64), strings.Repeat("a", 65),
		"2026-01-31T08:00:00Z", "2026-01-31T08:00:00.Z", "2026-01-31T08:00:00.5Z", "2026-01-31T08:00:00.5", "2026-01-31T08:00:60Z",
		"2026-01-31T08:00:00+08:00", "2026-01-31T08:00:00-23:59", "2026-01-31T08:00:00+24:00", "2026-01-31T08:00:00+08:60",
		"2026-01-31T8:00:00Z", "2026-01-31T08:00:00,5Z", "2026-01-31t08:00:00z", "2026-01-31T08:00:00.123456789+08:00",
		"2026-01-31T08:00:00Zx", "2026-01-31T08:00:00+08:0", "2026-01-31T08:00:00.+8:00", "2026-01-31T08:00:00", "2026-01-31T08:00:00*08:00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := isBizType(s); got != bizTypeForm.MatchString(s) {
			t.Errorf("isBizType(%q) = %v", s, got)
		}
		if got := isRFC3339(s); got != rfc3339Form.MatchString(s) {
			t.Errorf("isRFC3339(%q) = %v", s, got)
		}
		if got := EncodeKeyPart(s); isPlain(s) && strings.ContainsFunc(s, mustEncode) {
			t.Errorf("%q is taken for plain, and encoded as %q", s, got)
		}
		var slow []byte
		if utf8.ValidString(s) {
			slow, _ = json.Marshal(s)
			var back string
			if err := json.Unmarshal(appendQuoted(nil, s), &back); err != nil || back != s {
				t.Errorf("%q is quoted as %q (%s): %v", s, appendQuoted(nil, s), slow, err)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		plain, `{}`, `null`, ` `, "\uFEFF" + plain, `{"biz_type":"t","biz_id":"1","actions":["sms"],"params":{"a":1e999999999,"b":"\u0000\ud800"}}`,
		`{"specversion":"1.0","id":"1","data":` + plain + `}`, `{"specversion":"1.0","data_base64":"e30="}`,
		`{"biz_type":"t","biz_id":"a:b","recipient":{"phone":"13800138000"},"recip\u0069ent":null,"biz_id\u0000":2}`,
		`{"biz_type":"t","biz_id":-0,"expires_at":"2026-01-31T08:00:00Z"}`, `{"a":{"b":[[["\\\""]]]},"a\ud800":"\udc00"}`,
	} {
		f.Add([]byte(seed), "")
	}
	f.Add([]byte(plain), "application/cloudevents+json")
	schema := compileSchema(f)
	f.Fuzz(func(t *testing.T, text []byte, contentType string) {
		r := value(string(text), HeaderContentType, contentType)
		e, err := Decode(r)
		if err != nil {
			checkRefusal(t, err, len(text) == 0)
			return
		}
		checkEvent(t, e)
		if own := mustReadBack(t, e); !slowNumber.Match(own) && !schemaTakes(schema, own) {
			t.Errorf("the schema refuses %s", own)
		}
		if o, err := readObject(strings.TrimPrefix(string(text), byteOrderMark), ""); err == nil && !r.isStructured(o) {
			if !slowNumber.Match(text) && !schemaTakes(schema, text) {
				t.Errorf("Decode accepts and the schema refuses %q", text)
			}
		}
	})
}

func checkRefusal(t *testing.T, err error, empty bool) {
	t.Helper()
	var poison *PoisonError
	if errors.Is(err, ErrTombstone) != empty || !empty && (!errors.As(err, &poison) || poison.Reason == "") {
		t.Errorf("refused with %v", err)
	}
}

// checkEvent holds an accepted event to what the rest of the house relies on.
func checkEvent(t *testing.T, e *Event) {
	t.Helper()
	if !bizTypeForm.MatchString(e.BizType) || e.BizID == "" || len(e.BizID) > maxBizID {
		t.Errorf("ids %q %q", e.BizType, e.BizID)
	}
	ids := []string{e.BizID, e.EventID, e.Recipient.UserID, e.Recipient.Phone, e.Recipient.OpenID}
	for _, v := range e.Params {
		ids = append(ids, v.String())
	}
	for _, s := range ids {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Errorf("text that PostgreSQL cannot hold: %q", s)
		}
	}
	id, err := (Rule{}).DedupID(e, e.OccurredAt)
	if err != nil || !isKeyForm(id) {
		t.Errorf("dedup id %q, %v", id, err)
	}
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(e.Raw))
	dec.UseNumber()
	if err := dec.Decode(&fields); err != nil || fields["recipient"] != nil {
		t.Errorf("raw %q: %v", e.Raw, err)
	}
	if clean(string(e.Raw)) != string(e.Raw) {
		t.Errorf("raw is not clean: %q", e.Raw)
	}
}

// mustReadBack narrows the event and reads it back: the retry message is about the same delivery.
func mustReadBack(t *testing.T, e *Event) []byte {
	t.Helper()
	text, err := e.Narrow(SMS, e.Recipient)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(value(string(text)))
	if err != nil {
		t.Fatalf("narrowed to %q: %v", text, err)
	}
	if again.BizType != e.BizType || again.BizID != e.BizID || again.EventID != e.EventID || again.Recipient != e.Recipient ||
		!maps.Equal(again.Params, e.Params) || !slices.Equal(again.Actions, []Action{SMS}) ||
		!again.OccurredAt.Equal(e.OccurredAt) || !again.NotBefore.Equal(e.NotBefore) || !again.ExpiresAt.Equal(e.ExpiresAt) {
		t.Errorf("read back as\n%+v, was\n%+v", again, e)
	}
	return text
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{`"\u0000"`, `"\\u0000"`, `"\ud800\ud800\udc00"`, `"\ud83d\ude00\u"`, `["\uDBFF"]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		got := clean(string(text))
		if !json.Valid([]byte(got)) || len(got) > len(text) {
			t.Errorf("%q is cleaned to %q", text, got)
		}
		if clean(got) != got {
			t.Errorf("%q is cleaned to %q, which is not clean", text, got)
		}
	})
}

// FuzzReadObject holds the members to those of encoding/json, which reads objects into maps to the letter.
func FuzzReadObject(f *testing.F) {
	for _, seed := range []string{
		`{"a":-0.5E+10,"b":[],"c":[ ],"d":{ }}`, `{"a":01}`, `{"a":1.}`, `{"a":"\u12g4"}`, `{"a":"\x"}`, "{\"a\":\"\t\"}", `{"a":[1,]}`, `{,}`, `{"a" 1}`, `{"a":--1}`,
		`{"a":1e}`, `{"a":.5}`, `{"a":"\`, `{"a":"\u00`, `{"a":nul`, `{"a":1}x`,
		`{}`, ` { "a" : 1 , "b":[{"c":"]}\\\""}] } `, `{"a":1,"a":{}}`, `{"a"`, `{"":-1.5e3,"\u0061":null}`, `{"a":tru}`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := readObject(string(text), "")
		var want map[string]json.RawMessage
		if !utf8.Valid(text) || depth(string(text)) > maxDepth {
			return // refused before
		}
		if json.Unmarshal(text, &want) != nil || want == nil {
			if err == nil {
				t.Errorf("%q is read as %v", text, o)
			}
			return
		}
		got := make(map[string]json.RawMessage, len(o))
		for _, m := range o {
			got[m.name] = json.RawMessage(m.value)
		}
		same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
		if err != nil || !maps.EqualFunc(got, want, same) {
			t.Errorf("%q is read as %q, %v, want %q", text, got, err, want)
		}
	})
}

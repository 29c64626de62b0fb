package push

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// value is a record with this value and these headers (key, value, key, value...).
func value(text string, headers ...string) Record {
	r := Record{Value: []byte(text)}
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, header(headers[i], headers[i+1]))
	}
	return r
}

func mustDecode(t *testing.T, r Record) *Event {
	t.Helper()
	e, err := Decode(r)
	if err != nil {
		t.Fatalf("Decode(%.200s): %v", r.Value, err)
	}
	return e
}

// refuses fails the test unless err is a PoisonError of this reason and field.
func refuses(t *testing.T, err error, reason, field string) {
	t.Helper()
	var poison *PoisonError
	if !errors.As(err, &poison) {
		t.Fatalf("error = %v, want a PoisonError", err)
	}
	if poison.Reason != reason || poison.Field != field {
		t.Errorf("refused with %s at %q, want %s at %q", poison.Reason, poison.Field, reason, field)
	}
	if poison.Detail == "" {
		t.Error("the error does not say how to mend it")
	}
}

func TestDecodeReadsEveryField(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_type":"resume_viewed","biz_id":10248,"actions":["sms","notify","sms","fax"],
		"recipient":{"user_id":"u1","phone":"138 0013 8000","openid":"o1"},"params":{"company":"A&B","n":1.50,"ok":true},
		"event_id":"e1","occurred_at":"2026-01-31T08:00:00+08:00","not_before":"2026-01-31T09:00:00Z",
		"expires_at":"2026-02-01T00:00:00.5Z","later":{"x":[1]}}`))
	if e.BizType != "resume_viewed" || e.BizID != "10248" || e.EventID != "e1" {
		t.Errorf("ids = %q %q %q", e.BizType, e.BizID, e.EventID)
	}
	if want := []Action{SMS, Notify, "fax"}; !slices.Equal(e.Actions, want) {
		t.Errorf("actions = %v, want %v: repeats once, unknown names kept", e.Actions, want)
	}
	if e.Recipient != (Recipient{UserID: "u1", Phone: "138 0013 8000", OpenID: "o1"}) {
		t.Errorf("recipient = %+v", e.Recipient)
	}
	if e.Params["company"].String() != "A&B" || e.Params["n"].String() != "1.50" || e.Params["ok"].String() != "true" {
		t.Errorf("params = %v", e.Params)
	}
	if !e.OccurredAt.Equal(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)) ||
		!e.NotBefore.Equal(time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)) ||
		!e.ExpiresAt.Equal(time.Date(2026, 2, 1, 0, 0, 0, 5e8, time.UTC)) {
		t.Errorf("times = %v %v %v", e.OccurredAt, e.NotBefore, e.ExpiresAt)
	}
	if got := e.Vars(); got["biz_id"] != "10248" || got["n"] != "1.50" || got["occurred_at"] != "2026-01-31T08:00:00+08:00" {
		t.Errorf("vars = %v", got)
	}
}

func TestDecodeIDsKeepEveryDigit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", maxBizID)
	for in, want := range map[string]string{
		`10248`:                          "10248",
		`"10248"`:                        "10248",
		`9007199254740993`:               "9007199254740993",
		`-5`:                             "-5",
		`0`:                              "0",
		long:                             long,
		`"a\u00e9\ud83d\ude00\/\\u0000"`: "a\u00e9\U0001F600/\\u0000",
		`"` + long + `"`:                 long,
		`"\ufffd"`:                       "\uFFFD",
		`" "`:                            " ",
	} {
		if e := mustDecode(t, value(`{"biz_type":"t","biz_id":`+in+`}`)); e.BizID != want {
			t.Errorf("biz_id %s read as %q, want %q", in, e.BizID, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	with := func(member string) string { return `{"biz_type":"t","biz_id":"1",` + member + `}` }
	many := strings.Repeat(`"x",`, maxActions) + `"x"`
	tests := []struct{ name, text, reason, field string }{
		{"blanks", " \n\t", ReasonNotJSON, ""},
		{"a mark alone", "\uFEFF", ReasonNotJSON, ""},
		{"null", `null`, ReasonNotObject, ""},
		{"array", `[]`, ReasonNotObject, ""},
		{"string", `"x"`, ReasonNotObject, ""},
		{"huge number", `1e999999999`, ReasonNotObject, ""},
		{"cut off", `{"biz_type":"t","biz_id":"1"`, ReasonNotJSON, ""},
		{"cut off in a value", `{"biz_type":"t","biz_id":`, ReasonNotJSON, ""},
		{"cut off array", `[1`, ReasonNotJSON, ""},
		{"two objects", `{"biz_type":"t","biz_id":"1"}{}`, ReasonNotJSON, ""},
		{"trailing comma", `{"biz_type":"t","biz_id":"1",}`, ReasonNotJSON, ""},
		{"raw NUL", "{\"biz_type\":\"t\",\"biz_id\":\"\x00\"}", ReasonNotJSON, ""},
		{"two marks", "\uFEFF\uFEFF{}", ReasonNotJSON, ""},
		{"UTF-16", "{\x00\"\x00}\x00\xff\xfe", ReasonNotUTF8, ""},
		{"too large", with(`"x":"` + strings.Repeat("x", MaxValue) + `"`), ReasonTooLarge, ""},
		{"too deep", with(`"x":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)), ReasonTooDeep, ""},
		{"a depth bomb", strings.Repeat(`{"a":`, 100_000), ReasonTooDeep, ""},
		{"empty object", `{}`, ReasonMissingField, "biz_type"},
		{"no biz_type", `{"biz_id":"1"}`, ReasonMissingField, "biz_type"},
		{"biz_type of another case", `{"BIZ_TYPE":"t","biz_id":"1"}`, ReasonMissingField, "biz_type"},
		{"biz_type null", `{"biz_type":null,"biz_id":"1"}`, ReasonMissingField, "biz_type"},
		{"biz_type empty", `{"biz_type":"","biz_id":"1"}`, ReasonWrongValue, "biz_type"},
		{"biz_type number", `{"biz_type":1,"biz_id":"1"}`, ReasonWrongType, "biz_type"},
		{"biz_type with a colon", `{"biz_type":"a:b","biz_id":"1"}`, ReasonWrongValue, "biz_type"},
		{"biz_type with a line end", `{"biz_type":"a\n","biz_id":"1"}`, ReasonWrongValue, "biz_type"},
		{"biz_type of 65", `{"biz_type":"` + strings.Repeat("a", 65) + `","biz_id":"1"}`, ReasonWrongValue, "biz_type"},
		{"no biz_id", `{"biz_type":"t"}`, ReasonMissingField, "biz_id"},
		{"biz_id null", `{"biz_type":"t","biz_id":null}`, ReasonMissingField, "biz_id"},
		{"biz_id empty", `{"biz_type":"t","biz_id":""}`, ReasonWrongValue, "biz_id"},
		{"biz_id true", `{"biz_type":"t","biz_id":true}`, ReasonWrongType, "biz_id"},
		{"biz_id object", `{"biz_type":"t","biz_id":{}}`, ReasonWrongType, "biz_id"},
		{"biz_id 12.0", `{"biz_type":"t","biz_id":12.0}`, ReasonWrongValue, "biz_id"},
		{"biz_id 1e3", `{"biz_type":"t","biz_id":1e3}`, ReasonWrongValue, "biz_id"},
		{"biz_id 1E3", `{"biz_type":"t","biz_id":1E3}`, ReasonWrongValue, "biz_id"},
		{"biz_id -0", `{"biz_type":"t","biz_id":-0}`, ReasonWrongValue, "biz_id"},
		{"biz_id of 257", `{"biz_type":"t","biz_id":"` + strings.Repeat("a", 257) + `"}`, ReasonWrongValue, "biz_id"},
		{"biz_id of 258 bytes", `{"biz_type":"t","biz_id":"` + strings.Repeat("é", 129) + `"}`, ReasonWrongValue, "biz_id"},
		{"biz_id with NUL", `{"biz_type":"t","biz_id":"1\u0000"}`, ReasonBadText, "biz_id"},
		{"biz_id with a lone surrogate", `{"biz_type":"t","biz_id":"1\ud800"}`, ReasonBadText, "biz_id"},
		{"biz_id with a low surrogate", `{"biz_type":"t","biz_id":"\uDC00"}`, ReasonBadText, "biz_id"},
		{"biz_id with two high ones", `{"biz_type":"t","biz_id":"\ud800\ud800\udc00"}`, ReasonBadText, "biz_id"},
		{"actions empty", with(`"actions":[]`), ReasonWrongValue, "actions"},
		{"actions a string", with(`"actions":"sms"`), ReasonWrongType, "actions"},
		{"actions too many", with(`"actions":[` + many + `]`), ReasonWrongValue, "actions"},
		{"action null", with(`"actions":["sms",null]`), ReasonWrongValue, "actions[1]"},
		{"action number", with(`"actions":[1]`), ReasonWrongType, "actions[0]"},
		{"action empty", with(`"actions":[""]`), ReasonWrongValue, "actions[0]"},
		{"action with NUL", with(`"actions":["sms\u0000"]`), ReasonBadText, "actions[0]"},
		{"action of 65", with(`"actions":["` + strings.Repeat("a", 65) + `"]`), ReasonWrongValue, "actions[0]"},
		{"recipient a string", with(`"recipient":"u"`), ReasonWrongType, "recipient"},
		{"recipient a list", with(`"recipient":["u"]`), ReasonWrongType, "recipient"},
		{"user_id with NUL", with(`"recipient":{"user_id":"\u0000"}`), ReasonBadText, "recipient.user_id"},
		{"user_id too long", with(`"recipient":{"user_id":"` + strings.Repeat("u", 257) + `"}`), ReasonWrongValue, "recipient.user_id"},
		{"phone true", with(`"recipient":{"phone":true}`), ReasonWrongType, "recipient.phone"},
		{"phone 1.3e10", with(`"recipient":{"phone":1.3e10}`), ReasonWrongValue, "recipient.phone"},
		{"openid an object", with(`"recipient":{"openid":{}}`), ReasonWrongType, "recipient.openid"},
		{"params a list", with(`"params":[]`), ReasonWrongType, "params"},
		{"param null", with(`"params":{"a":null}`), ReasonWrongType, "params.a"},
		{"param nested", with(`"params":{"a":{"b":1}}`), ReasonWrongType, "params.a"},
		{"param of a long name", with(`"params":{"` + strings.Repeat("a", 65) + `":null}`), ReasonWrongType, "params." + strings.Repeat("a", 64) + "..."},
		{"param a list", with(`"params":{"a":[]}`), ReasonWrongType, "params.a"},
		{"param name with NUL", with(`"params":{"a\u0000":1}`), ReasonBadText, "params"},
		{"event_id number", with(`"event_id":1`), ReasonWrongType, "event_id"},
		{"event_id with NUL", with(`"event_id":"\u0000"`), ReasonBadText, "event_id"},
		{"event_id too long", with(`"event_id":"` + strings.Repeat("e", 257) + `"`), ReasonWrongValue, "event_id"},
		{"time number", with(`"occurred_at":1700000000`), ReasonWrongType, "occurred_at"},
		{"time without zone", with(`"not_before":"2026-01-31T08:00:00"`), ReasonWrongValue, "not_before"},
		{"time with a space", with(`"expires_at":"2026-01-31 08:00:00Z"`), ReasonWrongValue, "expires_at"},
		{"time of no day", with(`"expires_at":"2026-02-30T08:00:00Z"`), ReasonWrongValue, "expires_at"},
		{"time empty", with(`"expires_at":""`), ReasonWrongValue, "expires_at"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode(value(tt.text))
			refuses(t, err, tt.reason, tt.field)
		})
	}
}

func TestDecodeNamesMatchToTheLetterAndTheLastCounts(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_id":true,"biz_type":"t","biz_\u0069d":"1","BIZ_ID":"2","Biz_Type":"u","biz_id\u0000":"3",
		"params":{"a":null,"A":1,"a":2},"recipient":{"phone":{},"phone":"138","Phone":"139"},"actions":[],"actions":null}`))
	if e.BizID != "1" || e.BizType != "t" || e.Actions != nil {
		t.Errorf("read %q %q %v", e.BizType, e.BizID, e.Actions)
	}
	if len(e.Params) != 2 || e.Params["a"].String() != "2" || e.Recipient.Phone != "138" {
		t.Errorf("params %v, phone %q", e.Params, e.Recipient.Phone)
	}
	if again := mustDecode(t, Record{Value: e.Raw}); again.BizID != "1" {
		t.Errorf("the log's text reads as %q: a cleaned name became biz_id", again.BizID)
	}
}

func TestDecodeOptionalFieldsMayBeNull(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","actions":null,"recipient":null,"params":null,"event_id":null,
		"occurred_at":null,"not_before":null,"expires_at":"0001-01-01T00:00:00Z"}`))
	if e.Actions != nil || e.Recipient != (Recipient{}) || len(e.Params) != 0 || !e.OccurredAt.IsZero() || !e.ExpiresAt.IsZero() {
		t.Errorf("event = %+v", e)
	}
	e = mustDecode(t, value(`{"biz_type":"t","biz_id":"1","recipient":{"user_id":9007199254740993,"phone":13800138000,"openid":null}}`))
	if e.Recipient != (Recipient{UserID: "9007199254740993", Phone: "13800138000"}) {
		t.Errorf("recipient = %+v", e.Recipient)
	}
}

func TestDecodeKeepsTheTextWithoutTheRecipientAndFitForPostgres(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value("\uFEFF"+`{ "biz_type":"t", "recipient":{"phone":"13800138000"}, "biz_id":9007199254740993,
		"params":{"n":1.50,"big":1e999999999,"s":"a\u0000b\ud800c\\u0000\ud83d\ude00\udc00"}, "recip\u0069ent":{"openid":"o"},
		"unknown":{"deep":["\u0000",null]},"n\u0000ul":1 }`))
	want := `{"biz_type":"t","biz_id":9007199254740993,"params":{"n":1.50,"big":1e999999999,` +
		`"s":"ab\ufffdc\\u0000\ud83d\ude00\ufffd"},"unknown":{"deep":["",null]},"n` + "\uFFFD" + `ul":1}`
	if string(e.Raw) != want {
		t.Errorf("raw  %s\nwant %s", e.Raw, want)
	}
	if got := e.Params["s"].String(); got != "ab\uFFFDc\\u0000\U0001F600\uFFFD" {
		t.Errorf("param = %q", got)
	}
	if e.Recipient.Phone != "" || e.Recipient.OpenID != "o" {
		t.Errorf("recipient = %+v, want the last one's", e.Recipient)
	}
}

func TestDecodeBounds(t *testing.T) {
	t.Parallel()
	text := `{"biz_type":"t","biz_id":"1","x":"` + strings.Repeat("x", MaxValue)
	mustDecode(t, value(text[:MaxValue-2]+`"}`))
	_, err := Decode(value(text[:MaxValue-1] + `"}`))
	refuses(t, err, ReasonTooLarge, "")
	mustDecode(t, value(text[:MaxValue-1]+`"}`, HeaderAction, "sms", HeaderRound, "1", HeaderAttempt, "2"))
	deep := strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1)
	mustDecode(t, value(`{"biz_type":"t","biz_id":"1","x":`+deep+`,"y":"[[[\"[["}`))
}

func TestDecodeErrorsHoldNoAddress(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"biz_type":"t","biz_id":"1","recipient":{"phone":"13800138000`,
		`{"biz_type":"t","biz_id":"1","recipient":["13800138000"]}`,
		`{"biz_type":"t","biz_id":"1","recipient":{"user_id":"13800138000\u0000"}}`,
		`{"biz_type":"t","biz_id":"1","recipient":{"phone":{"n":"13800138000"}}}`,
		`{"biz_type":"t","biz_id":13800138000.5}`,
		`{"biz_type":"t","biz_id":"1","occurred_at":"13800138000"}`,
	} {
		_, err := Decode(value(text))
		if err == nil || strings.Contains(err.Error(), "1380") {
			t.Errorf("%s: error = %v", text, err)
		}
	}
}

// usual is an event as most are: what the hot path pays for each.
const usual = `{"biz_type":"resume_viewed","biz_id":10248,"event_id":"evt-000000010248","occurred_at":"2026-01-31T08:00:00+08:00",` +
	`"recipient":{"user_id":"u10248","phone":"13800138000"},"params":{"company":"Example Trading Co.","position":"Sales manager",` +
	`"city":"Hangzhou","salary":15000}}`

func BenchmarkDecode(b *testing.B) {
	r := value(usual)
	b.ReportAllocs()
	b.SetBytes(int64(len(usual)))
	for b.Loop() {
		if _, err := Decode(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDedupID(b *testing.B) {
	e, err := Decode(value(usual))
	if err != nil {
		b.Fatal(err)
	}
	at := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		id, err := (Rule{}).DedupID(e, at)
		if err != nil {
			b.Fatal(err)
		}
		_ = Identity{BizType: e.BizType, DedupID: id, Action: SMS}.Key()
	}
}

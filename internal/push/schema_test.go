package push

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

const schemaURL = "https://pusher.example/schema/event.schema.json"

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// schemaTakes reports whether the schema accepts the text; what is no JSON it does not.
func schemaTakes(schema *jsonschema.Schema, text []byte) bool {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.TrimPrefix(text, []byte(byteOrderMark))))
	return err == nil && schema.Validate(doc) == nil
}

// event wraps members in an event that is good without them.
func event(members string) string { return `{"biz_type":"t","biz_id":"1",` + members + `}` }

func TestSchemaAndDecodeAgree(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	long := strings.Repeat("x", 256)
	for text, good := range map[string]bool{
		`{"biz_type":"a-Z_0.9","biz_id":"` + long + `"}`:                                          true,
		`{"biz_type":"t","biz_id":9007199254740993}`:                                              true,
		`{"biz_type":"t","biz_id":-5}`:                                                            true,
		event(`"actions":["sms","sms","fax"]`):                                                    true,
		event(`"actions":null,"recipient":null,"params":null,"event_id":null,"occurred_at":null`): true,
		event(`"recipient":{"user_id":7,"phone":"no number","openid":null,"more":{}}`):            true,
		event(`"recipient":{"phone":"\u0000"}`):                                                   true,
		event(`"params":{"a":"","b":-1.50e-3,"c":true,"d":"\u0000\ud800"}`):                       true,
		event(`"event_id":"","unknown":{"a":[null]},"BIZ_ID":true`):                               true,
		event(`"expires_at":"2026-01-31T08:00:00.123456789+08:00"`):                               true,
		event(`"biz_id":true,"biz_id":"2"`):                                                       true,
		`[]`:                                                                                      false,
		`null`:                                                                                    false,
		`{}`:                                                                                      false,
		`{"biz_type":"t"}`:                                                                        false,
		`{"biz_id":"1"}`:                                                                          false,
		event(`"biz_id":"2","biz_id":true`):                                                       false,
		event(`"biz_id":null`):                                                                    false,
		event(`"biz_id":""`):                                                                      false,
		event(`"biz_id":"x` + long + `"`):                                                         false,
		event(`"biz_id":1.5`):                                                                     false,
		event(`"biz_id":"\u0000"`):                                                                false,
		event(`"biz_type":"a b"`):                                                                 false,
		event(`"biz_type":"a\n"`):                                                                 false,
		event(`"biz_type":""`):                                                                    false,
		event(`"biz_type":5`):                                                                     false,
		event(`"actions":[]`):                                                                     false,
		event(`"actions":"sms"`):                                                                  false,
		event(`"actions":[null]`):                                                                 false,
		event(`"actions":[""]`):                                                                   false,
		event(`"actions":["\u0000"]`):                                                             false,
		event(`"actions":["` + strings.Repeat("a", 65) + `"]`):                                    false,
		event(`"actions":["a"` + strings.Repeat(`,"a"`, 64) + `]`):                                false,
		event(`"recipient":[]`):                                                                   false,
		event(`"recipient":{"phone":false}`):                                                      false,
		event(`"recipient":{"user_id":{}}`):                                                       false,
		event(`"recipient":{"openid":"` + long + `x"}`):                                           false,
		event(`"recipient":{"openid":"\u0000"}`):                                                  false,
		event(`"params":[]`):                                                                      false,
		event(`"params":{"a":null}`):                                                              false,
		event(`"params":{"a":{}}`):                                                                false,
		event(`"params":{"a\u0000":1}`):                                                           false,
		event(`"event_id":1`):                                                                     false,
		event(`"event_id":"` + long + `x"`):                                                       false,
		event(`"event_id":"\u0000"`):                                                              false,
		event(`"not_before":1700000000`):                                                          false,
		event(`"not_before":""`):                                                                  false,
		event(`"not_before":"2026-01-31T08:00:00"`):                                               false,
		event(`"not_before":"2026-01-31t08:00:00z"`):                                              false,
		event(`"not_before":"2026-02-29T08:00:00Z"`):                                              false,
		event(`"not_before":"2026-01-31T24:00:00Z"`):                                              false,
		event(`"not_before":"2026-12-31T23:59:60Z"`):                                              false,
		event(`"not_before":"2026-01-31T08:00:00+24:00"`):                                         false,
		event(`"not_before":"2026-01-31T08:00:00,5Z"`):                                            false,
	} {
		if got := schemaTakes(schema, []byte(text)); got != good {
			t.Errorf("the schema takes %.120s: %v, want %v", text, got, good)
		}
		if _, err := Decode(value(text)); (err == nil) != good {
			t.Errorf("Decode of %.120s: %v, want good %v", text, err, good)
		}
	}
}

// TestSchemaAcceptsMoreOnlyInTheListedCases has one text for each case of the schema's $comment.
func TestSchemaAcceptsMoreOnlyInTheListedCases(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for listed, text := range map[string]string{
		"over 1 MiB":                  event(`"x":"` + strings.Repeat("x", MaxValue) + `"`),
		"nested deeper than 100":      event(`"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)),
		"invalid UTF-8":               event("\"x\":\"\xff\""),
		"1e3":                         event(`"biz_id":1e3`),
		"12.0":                        event(`"recipient":{"user_id":12.0}`),
		"-0":                          event(`"biz_id":-0`),
		"a biz_id over 256 bytes":     event(`"biz_id":"` + strings.Repeat("é", 129) + `"`),
		"an integer of more digits":   event(`"biz_id":` + strings.Repeat("9", 257)),
		"a phone over 256 characters": event(`"recipient":{"phone":"` + strings.Repeat("1", 257) + `"}`),
		"lone surrogates in ids":      event(`"biz_id":"\ud800"`),
	} {
		if !strings.Contains(string(Schema()), listed) {
			t.Errorf("the schema does not list %q", listed)
		}
		if !schemaTakes(schema, []byte(text)) {
			t.Errorf("%s: the schema refuses it and need not list it", listed)
		}
		if _, err := Decode(value(text)); err == nil {
			t.Errorf("%s: Decode accepts it", listed)
		}
	}
}

// anyEvent draws texts near the border between good and bad events.
func anyEvent() *rapid.Generator[string] {
	scalar := rapid.OneOf(
		rapid.SampledFrom([]string{`null`, `true`, `""`, `"a"`, `"\u0000"`, `"\ud83d\ude00"`, `0`, `-5`, `1.5`, `10248`, `[]`, `{}`,
			`["sms"]`, `["sms","sms",""]`, `[null]`, `{"a":1}`, `{"a":null}`, `{"user_id":"u","phone":138}`, `{"phone":[]}`,
			`"2026-01-31T08:00:00Z"`, `"2026-01-31"`}),
		rapid.Map(rapid.StringN(0, 100, 200), func(s string) string { return string(appendQuoted(nil, s)) }),
		rapid.Map(rapid.Int64(), func(n int64) string { text, _ := json.Marshal(n); return string(text) }),
	)
	names := []string{"biz_type", "biz_id", "actions", "recipient", "params", "event_id", "occurred_at", "not_before",
		"expires_at", "BIZ_ID", "x"}
	return rapid.Custom(func(t *rapid.T) string {
		text := `{"biz_type":"t","biz_id":"1"`
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			text += `,"` + name + `":` + scalar.Draw(t, "value")
		}
		return text + "}"
	})
}

func TestSchemaAndDecodeAgreeOnAnyEvent(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		text := anyEvent().Draw(t, "event")
		_, err := Decode(value(text))
		if taken := schemaTakes(schema, []byte(text)); taken != (err == nil) {
			t.Fatalf("the schema takes %s: %v; Decode: %v", text, taken, err)
		}
	})
}

package push

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValueShowsNumbersWithTheirDigits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7", 200)
	for in, want := range map[string]string{
		`"a"`: "a", `""`: "", `"1e6"`: "1e6", `true`: "true", `false`: "false",
		`0`: "0", `-5`: "-5", `12.50`: "12.50", `9007199254740993`: "9007199254740993", `0.10`: "0.10", long: long,
		`1e6`: "1000000", `1E+6`: "1000000", `1.5e3`: "1500", `1.50e1`: "15.0", `-1.5e-2`: "-0.015", `12e-1`: "1.2",
		`1e0`: "1", `1e-1`: "0.1", `0e5`: "0", `0.5e1`: "5", `0.05e1`: "0.5", `0.001e2`: "0.1", `100e-2`: "1.00",
		`-0`: "-0", `1e63`: "1" + strings.Repeat("0", 63), `1e64`: "1e64", `1e-63`: "0." + strings.Repeat("0", 62) + "1",
		`1e999999999`: "1e999999999", `1e-999999999`: "1e-999999999", `1E99999999999999999999`: "1E99999999999999999999",
		long + `e1`: long + "e1",
	} {
		v, ok := ParseValue(json.RawMessage(in))
		if !ok || v.String() != want {
			t.Errorf("%s shows as %q (%v), want %q", in, v, ok, want)
		}
	}
}

func TestValueIsNothingNested(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `null`, `{}`, `[]`, `[1]`, `tru`, `"`, `-`, `1 2`, `nonsense`} {
		if v, ok := ParseValue(json.RawMessage(in)); ok {
			t.Errorf("%s is read as %q", in, v)
		}
	}
}

func TestValueIsWrittenAsItCame(t *testing.T) {
	t.Parallel()
	params := map[string]Value{"s": Text("<a&\"\\\n\x01\u2028\U0001F600>")}
	for name, in := range map[string]string{"n": `1.50`, "e": `1e999999999`, "b": `true`} {
		params[name], _ = ParseValue(json.RawMessage(in))
	}
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]json.RawMessage
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for name, want := range params {
		if got, ok := ParseValue(back[name]); !ok || got != want {
			t.Errorf("%s comes back as %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(string(text), `"n":1.50`) {
		t.Errorf("a number lost its digits: %s", text)
	}
}

func TestAppendQuotedIsRFC8785(t *testing.T) {
	t.Parallel()
	got := string(appendQuoted(nil, "\u20ac$\u000f\nA'B\"\\\b\t\f\r\x7f</\u2028"))
	if want := `"€$\u000f\nA'B\"\\\b\t\f\r` + "\x7f</\u2028\""; got != want {
		t.Errorf("quoted as %s, want %s", got, want)
	}
}

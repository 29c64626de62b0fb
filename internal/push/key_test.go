package push

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestKeyIsTheContracts(t *testing.T) {
	t.Parallel()
	for want, id := range map[string]Identity{
		"push:dedup:resume_viewed:10248:sms":    {"resume_viewed", "v1", "10248", SMS},
		"push:dedup:resume_viewed:10249:sms":    {"resume_viewed", "", "10249", SMS},
		"push:dedup:resume_viewed@v2:10248:sms": {"resume_viewed", "v2", "10248", SMS},
		"push:dedup:t:u%2C1,7:a%3Ab":            {"t", "v1", "u%2C1,7", "a:b"},
	} {
		if got := id.Key(); got != want {
			t.Errorf("%+v has key %s, want %s", id, got, want)
		}
	}
}

func TestEncodeKeyPart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"a-Z_0.9~+/é", "a-Z_0.9~+/é"},
		{"%:@,", "%25%3A%40%2C"},
		{" \t\n\x00\x7f\u0085\u00a0\u2028\u3000", "%20%09%0A%00%7F%C2%85%C2%A0%E2%80%A8%E3%80%80"},
		{"上海:1", "上海%3A1"},
	} {
		if got := EncodeKeyPart(tt.in); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestEncodeKeyPartIsReversibleAndFreeOfSeparators(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		x, y := EncodeKeyPart(a), EncodeKeyPart(b)
		if (a == b) != (x == y) {
			t.Fatalf("%q and %q become %q and %q", a, b, x, y)
		}
		if strings.ContainsFunc(x, func(r rune) bool {
			return strings.ContainsRune(":@,", r) || unicode.IsSpace(r) || unicode.IsControl(r)
		}) {
			t.Fatalf("%q becomes %q", a, x)
		}
	})
}

func TestKeysOfDifferentFactsDiffer(t *testing.T) {
	t.Parallel()
	part := rapid.StringOfN(rapid.SampledFrom([]rune("ab:@,%2C v")), 1, 4, -1)
	draw := func(t *rapid.T) [3]string {
		return [3]string{part.Draw(t, "type"), part.Draw(t, "id"), part.Draw(t, "action")}
	}
	key := func(f [3]string) string {
		return Identity{BizType: f[0], DedupID: EncodeKeyPart(f[1]), Action: Action(f[2])}.Key()
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t), draw(t)
		if (a == b) != (key(a) == key(b)) {
			t.Fatalf("%q and %q have keys %s and %s", a, b, key(a), key(b))
		}
	})
}

func TestReferenceIsTheSameForEveryAttemptOfARound(t *testing.T) {
	t.Parallel()
	id := Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: SMS}
	for round, text := range map[int]string{
		0: "push:dedup:resume_viewed:10248:sms",
		1: "push:dedup:resume_viewed:10248:sms",
		2: "push:dedup:resume_viewed:10248:sms#2",
		9: "push:dedup:resume_viewed:10248:sms#9",
	} {
		sum := sha256.Sum256([]byte(text))
		if got, want := id.Reference(round), hex.EncodeToString(sum[:16]); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
	}
}

func TestKeysAreReadBack(t *testing.T) {
	t.Parallel()
	for _, want := range []Identity{
		{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: SMS},
		{BizType: "a.b", RuleVersion: "v2", DedupID: "u%201,2026-01-02", Action: WeChat},
	} {
		got, err := ParseKey(want.Key())
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", want.Key(), got, err)
		}
	}
	for _, bad := range []string{"", "x", "push:dedup:a:b", "push:dedup:a:b:c:d", "push:dedup:%zz:1:sms", "push:dedup:a:1:%z"} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q was taken for a key", bad)
		}
	}
}

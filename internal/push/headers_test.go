package push

import (
	"strings"
	"testing"
)

func TestRetryHeadersAreReadStrictly(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		HeaderAction: "sms", HeaderRound: "1", HeaderAttempt: "2", HeaderRuleVersion: "v2", HeaderDedupID: "a%3Ab,c",
	}
	tests := []struct {
		name, header, value string
		want                bool
	}{
		{"as they are", HeaderAction, "sms", true},
		{"an unknown action", HeaderAction, "fax", true},
		{"no action", HeaderAction, "", false},
		{"an action with NUL", HeaderAction, "s\x00", false},
		{"an endless action", HeaderAction, strings.Repeat("a", 65), false},
		{"round 0", HeaderRound, "0", false},
		{"a negative round", HeaderRound, "-1", false},
		{"a signed round", HeaderRound, "+1", false},
		{"a leading zero", HeaderRound, "01", false},
		{"no attempt", HeaderAttempt, "", false},
		{"a word", HeaderAttempt, "two", false},
		{"spaces", HeaderAttempt, " 2", false},
		{"hexadecimal", HeaderAttempt, "0x2", false},
		{"underscores", HeaderAttempt, "1_0", false},
		{"the largest", HeaderAttempt, "999999999", true},
		{"too large", HeaderAttempt, "9999999999", false},
		{"version 1", HeaderRuleVersion, "v1", true},
		{"version 0", HeaderRuleVersion, "v0", false},
		{"a version without v", HeaderRuleVersion, "2", false},
		{"no dedup id", HeaderDedupID, "", false},
		{"a dedup id not in key form", HeaderDedupID, "a:b", false},
		{"a dedup id with a space", HeaderDedupID, "a b", false},
		{"a dedup id that is no UTF-8", HeaderDedupID, "\xff", false},
		{"an endless dedup id", HeaderDedupID, strings.Repeat("a", 513), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Record{}
			for key, value := range good {
				if key == tt.header {
					value = tt.value
				}
				r.Headers = append(r.Headers, header(key, value))
			}
			if asked, ok := r.Retry(); ok != tt.want || !ok && asked != (Asked{}) {
				t.Errorf("Retry() = %+v, %v, want %v", asked, ok, tt.want)
			}
		})
	}
}

func TestRetryHeadersMayBeTheContractsThreeOnly(t *testing.T) {
	t.Parallel()
	three := value("{}", HeaderAction, "sms", HeaderRound, "1", HeaderAttempt, "2")
	if asked, ok := three.Retry(); !ok || asked != (Asked{Retry: Retry{1, 2}, Action: SMS}) {
		t.Errorf("Retry() = %+v, %v", asked, ok)
	}
	if _, ok := value("{}", HeaderAction, "sms", HeaderRound, "1").Retry(); ok {
		t.Error("two of three are taken for a retry")
	}
	four := value("{}", HeaderAction, "sms", HeaderRound, "1", HeaderAttempt, "2", HeaderDedupID, "1")
	if _, ok := four.Retry(); ok {
		t.Error("a dedup id without its rule's version is taken for a retry")
	}
	if _, ok := value("{}").Retry(); ok {
		t.Error("a main message is taken for a retry")
	}
}

func TestHeaderOfARepeatedNameTheLastCounts(t *testing.T) {
	t.Parallel()
	r := value("", "Content-Type", "a", "content-type", "b", "x", "c")
	if got, ok := r.Header("CONTENT-TYPE"); got != "b" || !ok {
		t.Errorf("Header = %q, %v", got, ok)
	}
	if got, ok := r.Header("y"); got != "" || ok {
		t.Errorf("Header = %q, %v of a header that is not there", got, ok)
	}
}

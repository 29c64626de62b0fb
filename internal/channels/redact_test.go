package channels

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pusher/internal/push"
)

func TestCleanHidesWhatIsPersonal(t *testing.T) {
	t.Parallel()
	m := push.Message{Recipient: "+8613800138000", Vars: map[string]string{"code": "493817", "company": "limit", "n": "7"}}
	secrets := SecretsOf(m, "AKID-123", "", "top/secret")
	for text, want := range map[string]string{
		"13800138000手机号码格式错误":              "***手机号码格式错误",
		"bad number +8613800138000":        "bad number ***",
		"bad number 8613800138000":         "bad number ***",
		"another number 13912345678":       "another number ***",
		"code 493817 is too long":          "code *** is too long",
		"not oABCD1234efgh5678ijkl9012mno": "not ***",
		"of_a_word_that_is_long":           "of_a_word_that_is_long",
		"over the limit 7":                 "over the limit 7",
		"key AKID-123 of top/secret":       "key *** of ***",
		"触发分钟级流控Permits:1":                 "触发分钟级流控Permits:1",
		"rid 6551a0c4-1f2e3d4c":            "rid 6551a0c4-1f2e3d4c",
		"two\nlines\x00 and \xff bytes":    "two lines  and \uFFFD bytes",
		"":                                 "",
	} {
		if got := secrets.Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCleanBoundsAMessage(t *testing.T) {
	t.Parallel()
	got := Secrets{}.Clean(strings.Repeat("模", 10_000))
	if n := utf8.RuneCountInString(got); n != maxMessage || !utf8.ValidString(got) {
		t.Errorf("%d characters kept, want %d of valid text", n, maxMessage)
	}
}

func TestFailureIsCleanThroughAndThrough(t *testing.T) {
	t.Parallel()
	m := push.Message{Recipient: "oABCD1234efgh5678ijkl"}
	cause := fmt.Errorf("asking about %s: %w", m.Recipient, context.DeadlineExceeded)
	err := SecretsOf(m).Failure(&push.Failure{Code: "x-" + m.Recipient, Message: "no " + m.Recipient, Err: cause})
	for e := err; e != nil; e = errors.Unwrap(e) {
		if printed := fmt.Sprintf("%v %+v", e, e); strings.Contains(printed, m.Recipient) {
			t.Errorf("%s shows the recipient", printed)
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("the cause cannot be asked about")
	}
	if (Secrets{}).Failure(nil) != nil {
		t.Error("no error became one")
	}
	if f := push.FailureOf(SecretsOf(m).Failure(cause)); f.Class != push.Ambiguous {
		t.Errorf("an unclassified error is %s, want ambiguous", f.Class)
	}
}

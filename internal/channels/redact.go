package channels

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	"pusher/internal/push"
)

const (
	hidden     = "***"
	maxMessage = 500 // characters of a provider's words that are kept
	minSecret  = 4   // characters below which a value is no secret worth hiding
)

// personLike is what could be somebody, this message's recipient or not: a phone number written without gaps, or an
// openid, which is 28 characters and begins with an o.
var personLike = regexp.MustCompile(`\+?\b[0-9]{11,15}\b|\bo[A-Za-z0-9_-]{27}\b`)

// Secrets are texts that no error may show.
type Secrets []string

// SecretsOf are the account's secrets with what is personal in a message: the recipient, however a provider may
// write it, and variables that are numbers, such as a verification code.
func SecretsOf(m push.Message, account ...string) Secrets {
	s := append(Secrets(account), m.Recipient, strings.TrimPrefix(m.Recipient, "+"), strings.TrimPrefix(m.Recipient, "+86"))
	for _, value := range m.Vars {
		if isDigits(value) {
			s = append(s, value)
		}
	}
	return s
}

// Clean returns text without the secrets, without anything that looks like a phone number or an openid and without
// control characters, cut to a length that a log line bears.
func (s Secrets) Clean(text string) string {
	for _, secret := range s {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	text = personLike.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), hidden)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage])
	}
	return strings.TrimSpace(text)
}

// Failure returns err as a failure that is clean through and through: each sender's only way out for an error.
func (s Secrets) Failure(err error) error {
	if err == nil {
		return nil
	}
	f := *push.FailureOf(err)
	f.Code = s.Clean(f.Code)
	f.Message = s.Clean(f.Message)
	if f.Err != nil {
		f.Err = &cleanError{text: s.Clean(f.Err.Error()), cause: f.Err}
	}
	return &f
}

// cleanError shows the cleaned text of its cause. The cause itself can be asked about, but not reached.
type cleanError struct {
	text  string
	cause error
}

// Error is the cause's text, cleaned.
func (e *cleanError) Error() string { return e.text }

// Is reports whether the cause is target.
func (e *cleanError) Is(target error) bool { return errors.Is(e.cause, target) }

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

package store

import (
	"strings"
	"unicode/utf8"
)

// The longest texts kept, in characters: what is longer says no more to an operator, and must not fail a write.
const (
	maxErrorMessage = 1000
	maxErrorCode    = 200
	maxMessageID    = 200
	maxLabel        = 200 // provider, worker, event id, masked recipient
	maxAddress      = 512 // user id and whole recipient: never cut in practice
)

// clean makes s fit for PostgreSQL: NUL dropped, invalid UTF-8 (lone surrogates are that) made U+FFFD, and cut
// after limit characters. Identities are never cleaned: two facts must not become one.
func clean(s string, limit int) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit])
}

package dedup

import (
	"errors"
	"net/http"
	"strings"
)

// The headers of repeated requests.
const (
	HeaderKey      = "Idempotency-Key"      // draft-ietf-httpapi-idempotency-key-header
	HeaderReplayed = "Idempotency-Replayed" // "true": this answer was given before
)

// maxIdempotencyKey bounds a key, in bytes.
const maxIdempotencyKey = 255

// errIdempotencyKey says what a key looks like.
var errIdempotencyKey = errors.New("one key of 1 to 255 visible ASCII characters is wanted, " +
	`such as Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"`)

// IdempotencyKey reads the key of a request; empty without one. As the draft has it, it is a string of Structured Fields
// (RFC 8941), in quotes; the bare form that many clients send is taken too, and means the same.
func IdempotencyKey(h http.Header) (string, error) {
	given := h.Values(HeaderKey)
	if len(given) == 0 {
		return "", nil
	}
	key := strings.Trim(given[0], " ")
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		if key, ok = unescape(quoted); !ok {
			return "", errIdempotencyKey
		}
	} else if strings.ContainsAny(key, `",;\ `) {
		return "", errIdempotencyKey
	}
	if len(given) > 1 || key == "" || len(key) > maxIdempotencyKey || strings.ContainsFunc(key, notVisible) {
		return "", errIdempotencyKey
	}
	return key, nil
}

// unescape reads a string of Structured Fields behind its first quote.
func unescape(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), i == len(s)-1
		case '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return "", false
}

func notVisible(r rune) bool { return r < ' ' || r > '~' }

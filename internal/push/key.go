package push

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyPrefix starts every dedup key (docs/contract.md, section 3).
const keyPrefix = "push:dedup:"

// Key is the delivery's dedup key in Redis: push:dedup:<biz_type>[@<version>]:<dedup_id>:<action>. DedupID is
// already in key form (see Rule), so that a log row and its key show the same text.
func (id Identity) Key() string {
	version := ""
	if id.RuleVersion != "" && id.RuleVersion != "v1" {
		version = "@" + id.RuleVersion
	}
	return keyPrefix + EncodeKeyPart(id.BizType) + version + ":" + id.DedupID + ":" + EncodeKeyPart(string(id.Action))
}

// ParseKey reads a dedup key back: ParseKey(id.Key()) is id.
func ParseKey(key string) (Identity, error) {
	rest, ok := strings.CutPrefix(key, keyPrefix)
	parts := strings.Split(rest, ":")
	if !ok || len(parts) != 3 {
		return Identity{}, fmt.Errorf("%q is no key such as push:dedup:resume_viewed:10248:sms", key)
	}
	bizType, version, versioned := strings.Cut(parts[0], "@")
	if !versioned {
		version = "v1"
	}
	bizType, err := url.PathUnescape(bizType)
	if err != nil {
		return Identity{}, fmt.Errorf("%q is no key: %w", key, err)
	}
	action, err := url.PathUnescape(parts[2])
	if err != nil {
		return Identity{}, fmt.Errorf("%q is no key: %w", key, err)
	}
	return Identity{BizType: bizType, RuleVersion: version, DedupID: parts[1], Action: Action(action)}, nil
}

// EncodeKeyPart percent-encodes what could make two different facts share a key: the separators, the percent sign,
// and every byte of white space and control characters; upper-case hex.
func EncodeKeyPart(s string) string {
	if isPlain(s) || strings.IndexFunc(s, mustEncode) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if mustEncode(r) {
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// isPlain reports whether s is ASCII of which nothing must be encoded, as nearly all that is asked for is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '%' || c == ':' || c == '@' || c == ',' {
			return false
		}
	}
	return true
}

func mustEncode(r rune) bool {
	return strings.ContainsRune("%:@,", r) || unicode.IsSpace(r) || unicode.IsControl(r)
}

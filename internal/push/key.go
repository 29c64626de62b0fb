package push

import (
	"fmt"
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

// EncodeKeyPart percent-encodes what could make two different facts share a key: the separators, the percent sign,
// and every byte of white space and control characters; upper-case hex.
func EncodeKeyPart(s string) string {
	if strings.IndexFunc(s, mustEncode) < 0 {
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

func mustEncode(r rune) bool {
	return strings.ContainsRune("%:@,", r) || unicode.IsSpace(r) || unicode.IsControl(r)
}

package receipts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"pusher/internal/push"
)

// text is a JSON string, or a number or boolean with its own digits: providers do not agree, and ids are beyond 2^53.
type text string

// UnmarshalJSON takes any scalar.
func (t *text) UnmarshalJSON(raw []byte) error {
	raw = bytes.TrimSpace(raw)
	switch {
	case bytes.Equal(raw, []byte("null")):
		*t = ""
		return nil
	case len(raw) > 0 && raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		*t = text(s)
		return err
	case len(raw) > 0 && (raw[0] == '{' || raw[0] == '['):
		return errors.New("is no single value")
	}
	*t = text(raw)
	return nil
}

// leastHidden is the shortest text that is looked for to be hidden: what is shorter is nobody's address.
const leastHidden = 5

// hidden takes the recipient out of a receipt, wherever its texts hold it, and gives the receipt its digest. written is
// the recipient as the receipt has it, whole as the push log hashes it.
func (d *Doors) hidden(r push.Receipt, written, whole string) push.Receipt {
	r.Recipient, r.RecipientHash = push.Mask(whole), push.HashRecipient(whole, d.cfg.HashKey)
	for _, name := range []string{written, whole, strings.TrimPrefix(whole, "+86")} {
		if len(name) >= leastHidden {
			r.Raw = strings.ReplaceAll(r.Raw, name, push.Mask(name))
			r.Message = strings.ReplaceAll(r.Message, name, push.Mask(name))
		}
	}
	return digested(r)
}

// addresses is what may be a phone or an openid in a text that nobody can read.
var addresses = regexp.MustCompile(`[0-9]{7,}|[A-Za-z0-9_-]{20,}`)

// maxUnreadable bounds what is kept of such a text, in bytes.
const maxUnreadable = 4096

// unreadable keeps a text for people to look at.
func unreadable(provider, raw string) push.Receipt {
	raw = raw[:min(len(raw), maxUnreadable)]
	return digested(push.Receipt{
		Provider: provider, Report: push.ReportUnreadable, Raw: addresses.ReplaceAllStringFunc(raw, push.Mask),
	})
}

// digested gives a receipt its digest: over what it says, masked as it is. The time counts only where no message is
// named: the same word twice may be written at two times.
func digested(r push.Receipt) push.Receipt {
	at, raw := "", ""
	if r.MessageID == "" {
		at, raw = r.ReportedAt.String(), r.Raw
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{
		r.Provider, string(r.Report), r.MessageID, r.Reference, r.Recipient, r.Code, at, raw,
	}))
	r.Digest = sum[:]
	return r
}

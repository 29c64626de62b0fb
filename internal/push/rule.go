package push

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxDedupID bounds a DedupID in bytes; a longer one is hashed, so that every index can hold it.
const maxDedupID = 512

// Rule says what a configured push takes as one business fact, and for how long (docs/contract.md, section 3).
type Rule struct {
	BizType string
	Version string // "v1" when the configuration names none
	By      By
	Window  time.Duration  // how long after its settle the same fact is a duplicate
	Zone    *time.Location // of the field date; nil is China's, UTC+8
	Region  string         // of phones without country code, see NormalizePhone
}

// By is dedup.by: the event's biz_id (the zero By), a list of its fields, or the digest of its params.
type By struct {
	fields []string // paths, in the order of the configuration; empty: biz_id
	digest bool
}

// ParseBy checks dedup.by as configured: "biz_id", "digest", or a list of fields: biz_id, date, occurred_at,
// not_before, expires_at, recipient.user_id, recipient.phone, recipient.openid, params.<name>.
func ParseBy(names ...string) (By, error) {
	if len(names) == 0 {
		return By{}, errors.New("dedup.by: no field is named; use biz_id, digest, or a list of fields")
	}
	if slices.Equal(names, []string{"digest"}) {
		return By{digest: true}, nil
	}
	seen := map[string]bool{}
	for _, name := range names {
		if !isDedupField(name) {
			return By{}, fmt.Errorf("dedup.by: %q: no such field; biz_id, date, occurred_at, not_before, expires_at, "+
				"recipient.user_id, recipient.phone, recipient.openid and params.<name> are known, digest stands alone", name)
		}
		if seen[name] {
			return By{}, fmt.Errorf("dedup.by: %q is named twice", name)
		}
		seen[name] = true
	}
	return By{fields: slices.Clone(names)}, nil
}

func isDedupField(name string) bool {
	switch name {
	case "biz_id", "date", "occurred_at", "not_before", "expires_at",
		"recipient.user_id", "recipient.phone", "recipient.openid":
		return true
	}
	param, ok := strings.CutPrefix(name, "params.")
	return ok && param != ""
}

// DedupID is what the rule takes as the event's business fact, in key form: each value percent-encoded by
// EncodeKeyPart and joined by ","; a digest, or a value over 512 bytes, as sha256-<hex>. recordTime is the record's
// own timestamp: nothing here reads a clock, so that a replay finds its key again. A field that is missing or empty
// is a *PoisonError.
func (r Rule) DedupID(e *Event, recordTime time.Time) (string, error) {
	if r.By.digest {
		return digest(e.Params)
	}
	fields := r.By.fields
	if len(fields) == 0 {
		fields = []string{"biz_id"}
	}
	parts := make([]string, len(fields))
	for i, field := range fields {
		value, err := r.value(field, e, recordTime)
		if err != nil {
			return "", err
		}
		if value == "" {
			return "", &PoisonError{ReasonMissingField, shorten(field), "dedup.by needs it; send it, not empty"}
		}
		parts[i] = EncodeKeyPart(value)
	}
	id := strings.Join(parts, ",")
	if len(id) > maxDedupID {
		id = hashed([]byte(id))
	}
	return id, nil
}

// value is the text of one field of dedup.by; empty when the event has none.
func (r Rule) value(field string, e *Event, recordTime time.Time) (string, error) {
	switch field {
	case "biz_id":
		return e.BizID, nil
	case "date":
		return r.day(e.OccurredAt, recordTime), nil
	case "occurred_at":
		return instant(e.OccurredAt), nil
	case "not_before":
		return instant(e.NotBefore), nil
	case "expires_at":
		return instant(e.ExpiresAt), nil
	case "recipient.user_id":
		return e.Recipient.UserID, nil
	case "recipient.openid":
		return e.Recipient.OpenID, nil
	case "recipient.phone":
		return r.phone(e.Recipient.Phone)
	}
	return e.Params[strings.TrimPrefix(field, "params.")].text, nil // a number as written, as in a digest
}

// day is the day of the fact in the rule's zone: of occurred_at, else of the record; never of now.
func (r Rule) day(occurredAt, recordTime time.Time) string {
	at := occurredAt
	if at.IsZero() {
		at = recordTime
	}
	if at.IsZero() {
		return ""
	}
	zone := r.Zone
	if zone == nil {
		zone = time.FixedZone("CST", 8*60*60)
	}
	return at.In(zone).Format(time.DateOnly)
}

// phone is the normalised phone: spellings of one number are one person.
func (r Rule) phone(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	phone, err := NormalizePhone(raw, r.Region)
	if err != nil {
		return "", &PoisonError{ReasonWrongValue, "recipient.phone", "dedup.by needs it, and it is " + err.Error()}
	}
	return phone, nil
}

// instant is a time in one spelling; empty when absent.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// digest hashes the params in canonical form: one JSON object without white space, names sorted by their bytes,
// strings escaped as little as JSON allows, numbers as written.
func digest(params map[string]Value) (string, error) {
	if len(params) == 0 {
		return "", &PoisonError{ReasonMissingField, "params", "dedup.by takes their digest; without any, all events would be one"}
	}
	text := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(appendQuoted(text, name), ':')
		text = params[name].appendJSON(text)
	}
	return hashed(append(text, '}')), nil
}

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + hex.EncodeToString(sum[:])
}

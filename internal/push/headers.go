package push

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The headers of retry messages and dead letters (docs/contract.md, section 2). HeaderRuleVersion and HeaderDedupID
// are in a retry message beside the contract's three, so that a changed configuration orphans no queued delivery.
const (
	HeaderReason      = "push-reason"    // why it is a dead letter: ReasonDead, or a PoisonError's reason
	HeaderTopic       = "push-topic"     // where the record stood
	HeaderPartition   = "push-partition" //
	HeaderOffset      = "push-offset"    //
	HeaderTime        = "push-time"      // the record's own timestamp, RFC 3339 in UTC, milliseconds
	HeaderTruncated   = "push-truncated" // the value was cut: its whole size in bytes
	HeaderSHA256      = "push-sha256"    // SHA-256 of the whole value, hex
	HeaderAction      = "push-action"
	HeaderRound       = "push-round"
	HeaderAttempt     = "push-attempt"
	HeaderRuleVersion = "push-rule-version"
	HeaderDedupID     = "push-dedup-id" // in key form
	HeaderTraceParent = "traceparent"   // W3C Trace Context
	HeaderContentType = "content-type"
)

// timeLayout is that of HeaderTime; Kafka's timestamps are milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Header returns the value of the last header of this name, whatever its case, and whether there is one.
func (r Record) Header(name string) (string, bool) {
	for _, h := range slices.Backward(r.Headers) {
		if strings.EqualFold(h.Key, name) {
			return string(h.Value), true
		}
	}
	return "", false
}

// Headers says where a record stood, for its dead letter.
func (o Origin) Headers() []Header {
	return []Header{
		header(HeaderTopic, o.Topic),
		header(HeaderPartition, strconv.Itoa(o.Partition)),
		header(HeaderOffset, strconv.FormatInt(o.Offset, 10)),
		header(HeaderTime, o.Time.UTC().Format(timeLayout)),
	}
}

func header(key, value string) Header { return Header{Key: key, Value: []byte(value)} }

// Asked is what the headers of a retry message ask for. RuleVersion and DedupID are empty when the message has the
// contract's three headers only: then the configured rule says them.
type Asked struct {
	Retry

	Action      Action
	RuleVersion string
	DedupID     string
}

var ruleVersion = regexp.MustCompile(`^v[1-9][0-9]{0,8}$`)

// Retry reads the headers of a retry message. It reports false when one is missing or malformed: then the record
// asks for no attempt. Whoever forges them changes nothing, since only a row queued for that very attempt counts.
func (r Record) Retry() (Asked, bool) {
	action, isRetry := r.Header(HeaderAction)
	if !isRetry {
		return Asked{}, false
	}
	round, _ := r.Header(HeaderRound)
	attempt, _ := r.Header(HeaderAttempt)
	version, hasVersion := r.Header(HeaderRuleVersion)
	dedupID, hasDedupID := r.Header(HeaderDedupID)
	asked := Asked{
		Retry:       Retry{Round: ordinal(round), Attempt: ordinal(attempt)},
		Action:      Action(action),
		RuleVersion: version,
		DedupID:     dedupID,
	}
	ok := asked.Round > 0 && asked.Attempt > 0 && isActionName(action) && hasVersion == hasDedupID &&
		(!hasVersion || ruleVersion.MatchString(version) && isKeyForm(dedupID))
	if !ok {
		return Asked{}, false
	}
	return asked, true
}

// ordinal reads a number from 1 to 999999999, written without sign or leading zero; anything else is 0.
func ordinal(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || len(s) > 9 || s[0] < '1' || s[0] > '9' {
		return 0
	}
	return n
}

// isActionName reports whether s could be an action's name, known or not.
func isActionName(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxActionName && !strings.ContainsRune(s, 0)
}

// isKeyForm reports whether s could be a DedupID: what must be encoded is.
func isKeyForm(s string) bool {
	return s != "" && len(s) <= maxDedupID && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != '%' && r != ',' && mustEncode(r) })
}

package push

import (
	"fmt"
	"strings"
	"time"
)

// Filter says which deliveries an operator means; a zero field does not restrict.
type Filter struct {
	Identity // any of its fields

	IDs           []int64 // any of these rows
	BizID         string
	UserID        string
	RecipientHash []byte   // the keyed hash of a whole phone, openid or user id
	Recipient     string   // a masked one, as rows have it
	Statuses      []Status // any of these
	Provider      string
	ErrorCode     string
	From          time.Time // created at or after
	To            time.Time // created before
}

// String says the filter in words that an audit can keep: nothing whole in it but ids of our own.
func (f Filter) String() string {
	var words []string
	add := func(asked bool, name, value string) {
		if asked {
			words = append(words, name+"="+value)
		}
	}
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	statuses := make([]string, len(f.Statuses))
	for i, s := range f.Statuses {
		statuses[i] = string(s)
	}
	add(len(f.IDs) > 0, "id", strings.Trim(strings.ReplaceAll(fmt.Sprint(f.IDs), " ", ","), "[]"))
	add(f.BizType != "", "biz_type", f.BizType)
	add(f.RuleVersion != "", "rule_version", f.RuleVersion)
	add(f.DedupID != "", "dedup_id", f.DedupID)
	add(f.Action != "", "action", string(f.Action))
	add(f.BizID != "", "biz_id", f.BizID)
	add(f.UserID != "", "user_id", f.UserID)
	add(f.RecipientHash != nil, "recipient_hash", fmt.Sprintf("%.8x", f.RecipientHash))
	add(f.Recipient != "", "recipient", f.Recipient)
	add(len(statuses) > 0, "status", strings.Join(statuses, ","))
	add(f.Provider != "", "provider", f.Provider)
	add(f.ErrorCode != "", "error_code", f.ErrorCode)
	add(!f.From.IsZero(), "from", at(f.From))
	add(!f.To.IsZero(), "to", at(f.To))
	if len(words) == 0 {
		return "everything"
	}
	return strings.Join(words, " ")
}

// Page is some deliveries of a list, newest first.
type Page struct {
	Entries []Entry
	Next    int64 // read on before this row id; 0: there is nothing older
}

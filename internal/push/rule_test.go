package push

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

var recordTime = time.Date(2026, 1, 31, 20, 0, 0, 0, time.UTC)

func ruleBy(t *testing.T, names ...string) Rule {
	t.Helper()
	by, err := ParseBy(names...)
	if err != nil {
		t.Fatal(err)
	}
	return Rule{BizType: "t", Version: "v1", By: by}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:])
}

func TestDedupIDByEveryField(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_type":"t","biz_id":"a:b, c","recipient":{"user_id":"u,1","phone":"0086-138 0013 8000","openid":"o%"},
		"params":{"job_id":9007199254740993,"n":1e3,"ok":true,"city":"上海\u3000"},
		"occurred_at":"2026-01-31T15:59:59.5Z","not_before":"2026-02-01T08:00:00+08:00","expires_at":"2026-03-01T00:00:00Z"}`))
	for names, want := range map[string]string{
		"biz_id":                            "a%3Ab%2C%20c",
		"recipient.user_id params.job_id":   "u%2C1,9007199254740993",
		"params.job_id recipient.user_id":   "9007199254740993,u%2C1",
		"recipient.phone recipient.openid":  "+8613800138000,o%25",
		"biz_id date":                       "a%3Ab%2C%20c,2026-01-31",
		"occurred_at not_before expires_at": "2026-01-31T15%3A59%3A59.5Z,2026-02-01T00%3A00%3A00Z,2026-03-01T00%3A00%3A00Z",
		"params.n params.ok":                "1e3,true",
		"params.city":                       "上海%E3%80%80",
	} {
		got, err := ruleBy(t, strings.Fields(names)...).DedupID(e, recordTime)
		if err != nil || got != want {
			t.Errorf("by %s: %q, %v, want %q", names, got, err, want)
		}
		if !isKeyForm(got) {
			t.Errorf("by %s: %q is not in key form", names, got)
		}
	}
	if got, err := (Rule{}).DedupID(e, recordTime); err != nil || got != "a%3Ab%2C%20c" {
		t.Errorf("the zero rule gives %q, %v, want the biz_id", got, err)
	}
}

func TestDedupIDDateIsTheFactsDayInTheRulesZone(t *testing.T) {
	t.Parallel()
	early := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","occurred_at":"2026-01-31T15:59:59Z"}`))
	late := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","occurred_at":"2026-01-31T16:00:00Z"}`))
	none := mustDecode(t, value(`{"biz_type":"t","biz_id":"1"}`))
	for _, tt := range []struct {
		name string
		e    *Event
		at   time.Time
		zone *time.Location
		want string
	}{
		{"before midnight in China", early, recordTime, nil, "2026-01-31"},
		{"after midnight in China", late, recordTime, nil, "2026-02-01"},
		{"in UTC", late, recordTime, time.UTC, "2026-01-31"},
		{"of the record", none, recordTime, nil, "2026-02-01"},
		{"of the record in UTC", none, recordTime, time.UTC, "2026-01-31"},
	} {
		rule := ruleBy(t, "date")
		rule.Zone = tt.zone
		if got, err := rule.DedupID(tt.e, tt.at); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	_, err := ruleBy(t, "date").DedupID(none, time.Time{})
	refuses(t, err, ReasonMissingField, "date")
}

func TestDedupIDRefusesMissingFields(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","recipient":{"phone":"1380013800","user_id":""},"params":{"empty":""}}`))
	for _, name := range []string{
		"occurred_at", "not_before", "expires_at", "recipient.user_id", "recipient.openid", "params.job_id", "params.empty",
	} {
		_, err := ruleBy(t, "biz_id", name).DedupID(e, recordTime)
		refuses(t, err, ReasonMissingField, name)
	}
	_, err := ruleBy(t, "recipient.phone").DedupID(e, recordTime)
	refuses(t, err, ReasonWrongValue, "recipient.phone")
	if strings.Contains(err.Error(), "138") {
		t.Errorf("the error holds the number: %v", err)
	}
	none := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","params":{}}`))
	_, err = ruleBy(t, "digest").DedupID(none, recordTime)
	refuses(t, err, ReasonMissingField, "params")
}

func TestDedupIDDigestIsOfTheCanonicalParams(t *testing.T) {
	t.Parallel()
	id := func(params string) string {
		e := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","params":`+params+`}`))
		got, err := ruleBy(t, "digest").DedupID(e, recordTime)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got, want := id(`{ "b" : 1.50 , "a":"\u4e0a<\"", "c":true }`), sha(`{"a":"上<\"","b":1.50,"c":true}`); got != want {
		t.Errorf("digest = %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, params := range []string{
		`{"a":1}`, `{"a":"1"}`, `{"a":1.0}`, `{"a":1e0}`, `{"a":true}`, `{"a":"true"}`, `{"a":"1,\"b\":2"}`, `{"a":1,"b":2}`,
		`{"a\":1,\"b":2}`, `{"A":1}`, `{"a":""}`, `{"":"a"}`,
	} {
		if other, twice := seen[id(params)]; twice {
			t.Errorf("%s and %s are one", params, other)
		}
		seen[id(params)] = params
	}
}

func TestDedupIDOver512BytesIsHashed(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 512)
	e := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","params":{"a":"`+long+`","b":"`+long+`y"}}`))
	if got, err := ruleBy(t, "params.a").DedupID(e, recordTime); err != nil || got != long {
		t.Errorf("512 bytes: %.20s, %v", got, err)
	}
	if got, err := ruleBy(t, "params.b").DedupID(e, recordTime); err != nil || got != sha(long+"y") {
		t.Errorf("513 bytes: %.20s, %v", got, err)
	}
	if got, err := ruleBy(t, "biz_id", "params.a").DedupID(e, recordTime); err != nil || got != sha("1,"+long) {
		t.Errorf("over 512 bytes together: %.20s, %v", got, err)
	}
	spaces := mustDecode(t, value(`{"biz_type":"t","biz_id":"`+strings.Repeat(" ", 200)+`"}`))
	if got, err := (Rule{}).DedupID(spaces, recordTime); err != nil || got != sha(strings.Repeat("%20", 200)) {
		t.Errorf("a biz_id that encodes to 600 bytes: %.20s, %v", got, err)
	}
}

func TestParseByRefusesWhatCannotIdentify(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{
		nil, {""}, {"event_id"}, {"now"}, {"params"}, {"params."}, {"recipient"}, {"recipient.name"}, {"BIZ_ID"},
		{"biz_id", "biz_id"}, {"digest", "date"}, {"biz_type"},
	} {
		if by, err := ParseBy(names...); err == nil || !strings.HasPrefix(err.Error(), "dedup.by: ") {
			t.Errorf("%q gives %+v, %v", names, by, err)
		}
	}
}

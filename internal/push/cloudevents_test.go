package push

import (
	"encoding/base64"
	"strings"
	"testing"
)

const (
	plain   = `{"biz_type":"t","biz_id":9007199254740993,"recipient":{"user_id":"u"}}`
	parent  = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parent2 = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

func TestDecodeCloudEventModes(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte("\uFEFF" + plain))
	head := `{"specversion":"1.0","id":"ce-1","source":"/x","type":"t","traceparent":"` + parent + `",`
	tests := map[string]Record{
		"structured by header":  value(head+`"data":`+plain+`}`, "Content-Type", "Application/CloudEvents+JSON; charset=UTF-8"),
		"structured by body":    value(head + `"data":` + plain + `}`),
		"structured, base64":    value(head + `"data":null,"data_base64":"` + encoded + `"}`),
		"structured with mark":  value("\uFEFF" + head + `"data":` + plain + `}`),
		"the last data counts":  value(head + `"data":{},"data":` + plain + `}`),
		"binary":                value(plain, "ce_specversion", "1.0", "ce_id", "ce-1", "content-type", "application/json", "ce_traceparent", parent),
		"binary, traced header": value(plain, "ce_id", "ce-1", "ce_traceparent", parent2, "traceparent", parent),
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := mustDecode(t, r)
			if e.BizType != "t" || e.BizID != "9007199254740993" || e.Recipient.UserID != "u" {
				t.Errorf("event = %+v", e)
			}
			if e.EventID != "ce-1" || e.TraceParent != parent || e.TraceID() != "0af7651916cd43dd8448eb211c80319c" {
				t.Errorf("event_id %q, trace %q", e.EventID, e.TraceParent)
			}
			if want := `{"biz_type":"t","biz_id":9007199254740993,"event_id":"ce-1"}`; string(e.Raw) != want {
				t.Errorf("raw = %s, want %s", e.Raw, want)
			}
		})
	}
}

func TestDecodeCloudEventRefusals(t *testing.T) {
	t.Parallel()
	const typ = "application/cloudevents+json"
	tests := map[string]struct {
		r             Record
		reason, field string
	}{
		"no version":     {value(plain, "content-type", typ), ReasonBadCloudEvent, "specversion"},
		"old version":    {value(`{"specversion":"0.3","data":` + plain + `}`), ReasonBadCloudEvent, "specversion"},
		"no data":        {value(`{"specversion":"1.0"}`, "content-type", typ), ReasonBadCloudEvent, "data"},
		"two data":       {value(`{"specversion":"1.0","data":{},"data_base64":"e30="}`), ReasonBadCloudEvent, "data"},
		"data a string":  {value(`{"specversion":"1.0","data":"{}"}`), ReasonNotObject, "data"},
		"base64 broken":  {value(`{"specversion":"1.0","data_base64":"***"}`), ReasonBadCloudEvent, "data_base64"},
		"base64 object":  {value(`{"specversion":"1.0","data_base64":{}}`), ReasonBadCloudEvent, "data_base64"},
		"base64 no UTF8": {value(`{"specversion":"1.0","data_base64":"/w=="}`), ReasonNotUTF8, ""},
		"bad event":      {value(`{"specversion":"1.0","data":{"biz_type":"t"}}`), ReasonMissingField, "biz_id"},
		"batch":          {value(`[{"specversion":"1.0","data":{}}]`), ReasonNotObject, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode(tt.r)
			refuses(t, err, tt.reason, tt.field)
		})
	}
}

func TestDecodeCloudEventWordsInAPlainEventAreUnknownFields(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","specversion":"1.0","data":{"biz_type":"u","biz_id":"2"}}`))
	if e.BizType != "t" || !strings.Contains(string(e.Raw), `"data":{"biz_type":"u"`) {
		t.Errorf("event = %+v", e)
	}
}

func TestDecodeEventsOwnIDGoesBeforeTheEnvelopes(t *testing.T) {
	t.Parallel()
	e := mustDecode(t, value(`{"biz_type":"t","biz_id":"1","event_id":"mine"}`, "ce_id", "ce-1"))
	if e.EventID != "mine" {
		t.Errorf("event_id = %q", e.EventID)
	}
	for _, id := range []string{"", "a\x00", "\xff", strings.Repeat("x", 257)} {
		if e := mustDecode(t, value(plain, "ce_id", id)); e.EventID != "" {
			t.Errorf("an envelope's id %.20q became the event's", e.EventID)
		}
	}
}

func TestTraceParentMalformedIsIgnored(t *testing.T) {
	t.Parallel()
	zero := strings.Repeat("0", 32)
	for in, want := range map[string]string{
		parent:                          parent,
		"01" + parent[2:] + "-more":     "01" + parent[2:] + "-more",
		parent + "-more":                "",
		"ff" + parent[2:]:               "",
		strings.ToUpper(parent):         "",
		parent[:54]:                     "",
		parent + " ":                    "",
		"":                              "",
		"00-" + zero + parent[35:]:      "",
		parent[:36] + zero[:16] + "-01": "",
	} {
		if got := mustDecode(t, value(plain, HeaderTraceParent, in)); got.TraceParent != want {
			t.Errorf("traceparent %q read as %q, want %q", in, got.TraceParent, want)
		}
	}
}

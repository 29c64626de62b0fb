package push

import (
	"errors"
	"testing"
)

func TestAdmitRefusesWhatThePusherWould(t *testing.T) {
	t.Parallel()
	by, err := ParseBy("params.job_id")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]Rule{"viewed": {BizType: "viewed"}, "invited": {BizType: "invited", By: by}}
	tests := map[string]struct{ value, reason, field string }{
		"an event":         {`{"biz_type":"viewed","biz_id":1}`, "", ""},
		"no event":         {`{"biz_type":"viewed"}`, ReasonMissingField, "biz_id"},
		"an unknown push":  {`{"biz_type":"bought","biz_id":1}`, ReasonUnknownBizType, "biz_type"},
		"without its fact": {`{"biz_type":"invited","biz_id":1}`, ReasonMissingField, "params.job_id"},
	}
	for name, tt := range tests {
		event, err := Admit(Record{Value: []byte(tt.value)}, rules)
		var poison *PoisonError
		if tt.reason == "" {
			if err != nil || event.BizID != "1" {
				t.Errorf("%s: %+v %v", name, event, err)
			}
		} else if !errors.As(err, &poison) || poison.Reason != tt.reason || poison.Field != tt.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Admit(Record{}, rules); !errors.Is(err, ErrTombstone) {
		t.Errorf("a tombstone: %v", err)
	}
}

package push

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEachFieldThatIsWrongIsTold(t *testing.T) {
	t.Parallel()
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":[]`, i)
	}
	tests := map[string]struct {
		text string
		want []string
	}{
		"one":                 {`{"biz_type":"viewed"}`, []string{"missing_field biz_id"}},
		"no text":             {`{`, []string{"not_json "}},
		"a field twice wrong": {`{"biz_type":1,"biz_id":1}`, []string{"wrong_type biz_type"}},
		"several": {
			`{"biz_type":"a b","biz_id":1.5,"actions":["sms",2],"recipient":"42","params":{"x":null},"expires_at":"soon"}`,
			[]string{
				"wrong_value biz_type", "wrong_value biz_id", "wrong_type actions[1]", "wrong_type recipient", "wrong_type params.x",
				"wrong_value expires_at",
			},
		},
		"in a CloudEvent": {
			`{"specversion":"1.0","id":"x","source":"s","type":"t","data":{"biz_id":{}}}`,
			[]string{"missing_field biz_type", "wrong_type biz_id"},
		},
	}
	for name, tt := range tests {
		_, err := Decode(Record{Value: []byte(tt.text)})
		var got []string
		for _, p := range Faults(err) {
			got = append(got, p.Reason+" "+p.Field)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
		if first, ok := errors.AsType[*PoisonError](err); !ok || err.Error() != first.Error() || first != Faults(err)[0] {
			t.Errorf("%s: as an error it is not the first: %v", name, err)
		}
	}
	_, err := Decode(Record{Value: []byte(`{"biz_type":"a","biz_id":1,"params":{` + strings.Join(many, ",") + `}}`)})
	if n := len(Faults(err)); n != maxFaults {
		t.Errorf("%d faults of a hundred", n)
	}
	if Faults(ErrTombstone) != nil || Faults(nil) != nil {
		t.Error("faults of what is no poison")
	}
}

package push

import (
	"reflect"
	"testing"
)

func TestTallyAddsEveryCount(t *testing.T) {
	t.Parallel()
	var one, sum Tally
	counts := reflect.ValueOf(&one).Elem()
	for i := range counts.NumField() {
		counts.Field(i).SetInt(int64(i + 1))
	}
	sum.Add(one)
	sum.Add(one)
	total := reflect.ValueOf(sum)
	for i := range total.NumField() {
		if got, want := total.Field(i).Int(), int64(2*(i+1)); got != want {
			t.Errorf("%s adds up to %d, want %d", total.Type().Field(i).Name, got, want)
		}
	}
}

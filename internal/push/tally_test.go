package push

import (
	"reflect"
	"testing"
)

// A count that Add forgets would be missing from every summary.
func TestTallyAddsEveryCount(t *testing.T) {
	t.Parallel()
	var one, sum Tally
	fields := reflect.ValueOf(&one).Elem()
	for i := range fields.NumField() {
		fields.Field(i).SetInt(int64(i + 1))
	}
	sum.Add(one)
	sum.Add(one)
	got := reflect.ValueOf(sum)
	for i := range got.NumField() {
		if n := got.Field(i).Int(); n != int64(2*(i+1)) {
			t.Errorf("%s is %d, want %d", got.Type().Field(i).Name, n, 2*(i+1))
		}
	}
}

package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeTableHoldsEveryKeyWithItsDefault keeps the table of README.md and the structs together, in both directions.
func TestReadmeTableHoldsEveryKeyWithItsDefault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // key to its default, as the table says it
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+\\.[a-z_.]+)` \\| (.*?) \\|").FindAllStringSubmatch(string(text), -1) {
		rows[row[1]] = row[2]
	}
	c := Default()
	c.complete()
	for _, l := range leaves(reflect.ValueOf(c).Elem(), "") {
		said, ok := rows[l.key]
		delete(rows, l.key)
		if !ok {
			t.Errorf("the table lacks %s", l.key)
			continue
		}
		want := reflect.New(l.value.Type()).Elem()
		if said != "none" {
			if err := set(want, strings.Trim(said, "`")); err != nil {
				t.Errorf("%s: %v", l.key, err)
			}
		}
		if none := said == "none" && l.value.Len() == 0; !none && !reflect.DeepEqual(want.Interface(), l.value.Interface()) {
			t.Errorf("%s: the table says %s, the default is %v", l.key, said, l.value)
		}
	}
	for key := range rows {
		t.Errorf("the table has %s, the structs have not", key)
	}
}

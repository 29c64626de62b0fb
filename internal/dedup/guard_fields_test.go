package dedup

import (
	"strings"
	"testing"
)

type buyer struct {
	Name string `json:"name"`
	Age  int
}

type purchase struct {
	Buyer  *buyer `json:"buyer"`
	Item   string `json:"item_id,omitempty"`
	Prices []int
	Gift   bool
	hidden string
}

func TestKeyOfFields(t *testing.T) {
	t.Parallel()
	key, err := Fields[purchase]("buyer.name", "Item", "Buyer.Age", "Gift")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]purchase{
		"Ann:tea:30:true":     {Buyer: &buyer{"Ann", 30}, Item: "tea", Gift: true},
		"a%3Ab:c%20d:0:false": {Buyer: &buyer{Name: "a:b"}, Item: "c d"},
	}
	for want, in := range tests {
		if got, err := key(in); got != want || err != nil {
			t.Errorf("got %s %v, want %s", got, err, want)
		}
	}
	if _, err := key(purchase{}); err == nil {
		t.Error("a nil pointer on the way is taken")
	}
}

func TestKeyOfFieldsOfAPointer(t *testing.T) {
	t.Parallel()
	key, err := Fields[*buyer]("name")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := key(&buyer{Name: "Ann"}); got != "Ann" || err != nil {
		t.Errorf("got %s %v", got, err)
	}
	if _, err := key(nil); err == nil {
		t.Error("nil is taken")
	}
}

func TestPathsThatLeadNowhereAreRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "Buyer.Height", "Buyer", "Prices", "Item.x", "hidden"} {
		if _, err := Fields[purchase](path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := Fields[purchase](); err == nil {
		t.Error("no path at all is taken")
	}
	_ = purchase{}.hidden
}

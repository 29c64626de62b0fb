package wechat

import (
	"strings"
	"testing"
)

// The field types of docs/providers.md, section 3, and of WeChat's own table of them.
func TestFieldTypes(t *testing.T) {
	t.Parallel()
	han := func(n int) string { return strings.Repeat("模", n) }
	for name, values := range map[string]struct{ taken, refused []string }{
		"thing1":             {[]string{"x", han(20), "Acme & <Co> 12"}, []string{"", "  ", han(21), "a\nb", "a\u2028b", "a\x07"}},
		"character_string12": {[]string{"A-12_3/x", strings.Repeat("7", 32)}, []string{"", strings.Repeat("7", 33), "订单7"}},
		"phrase3":            {[]string{"配送中", han(5)}, []string{"", han(6), "ok", "配送1"}},
		"number4":            {[]string{"0", "12.50", "-3", strings.Repeat("9", 32)}, []string{"", "12,5", "1e3", "x", strings.Repeat("9", 33)}},
		"letter5":            {[]string{"abcXYZ"}, []string{"", "ab1", "模", strings.Repeat("a", 33)}},
		"symbol6":            {[]string{"+-*", "！"}, []string{"", "a", "1", "++++++"}},
		"time7":              {[]string{"15:01", "2019年10月1日 15:01", "2019-10-01 15:01:59", "15:01~16:00", "2026-03-01T15:01:00Z"}, []string{"", "noon", "年", "15:01\n"}},
		"date8":              {[]string{"2019年10月1日", "2018/01/01", "2018.01.01", "01-01"}, []string{"", "tomorrow"}},
		"amount9":            {[]string{"¥12.50", "100元", "$1,000.00", "0", "HK$5"}, []string{"", "free", "¥", "¥12345678901234"}},
		"phone_number10":     {[]string{"+86-0766-66888866", "10086", "(010) 6512-3456"}, []string{"", "call me", "123456789012345678"}},
		"car_number11":       {[]string{"粤A8Z888挂"}, []string{"", "粤A8Z888挂挂"}},
		"name12":             {[]string{han(10), strings.Repeat("a", 20)}, []string{"", han(11), strings.Repeat("a", 21), "a" + han(10)}},
		"const13":            {[]string{"whatever the template has", han(50)}, []string{"", "a\nb"}},
		// Old templates, test accounts and types that are written nowhere: WeChat decides.
		"first":    {[]string{"", "a\nb", han(100)}, nil},
		"keyword1": {[]string{"", han(100)}, nil},
		"thing":    {[]string{"", han(100)}, nil},
		"new_one1": {[]string{"", han(100)}, nil},
	} {
		check := checkOf(false)(name)
		for _, value := range values.taken {
			if got, f := check(value); f != nil || got != value {
				t.Errorf("%s: %q refused: %v", name, value, f)
			}
		}
		for _, value := range values.refused {
			if _, f := check(value); f == nil {
				t.Errorf("%s: %q taken", name, value)
			} else if value != "" && len(value) > 3 && strings.Contains(f.Message, value) {
				t.Errorf("%s: %v quotes the value", name, f)
			}
		}
	}
}

// Only free text is shortened: half a number, or half a status, says something else.
func TestOnlyFreeTextIsShortened(t *testing.T) {
	t.Parallel()
	check := checkOf(true)
	if got, f := check("thing1")(" a\n\nlong  text\tthat does not fit "); f != nil || got != "a long text that do…" {
		t.Errorf("%q, %v", got, f)
	}
	if _, f := check("thing1")("\n"); f == nil {
		t.Error("an empty value is taken")
	}
	for name, value := range map[string]string{"number1": strings.Repeat("1", 33), "phrase1": strings.Repeat("模", 6), "character_string1": "a\nb"} {
		if got, f := check(name)(value); f == nil {
			t.Errorf("%s went out as %q", name, got)
		}
	}
}

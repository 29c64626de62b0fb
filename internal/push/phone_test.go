package push

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestNormalizePhoneSpellings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"13800138000":                         "+8613800138000",
		" (138) 0013.8000\t":                  "+8613800138000",
		"+86 138 0013 8000":                   "+8613800138000",
		"86 13800138000":                      "+8613800138000",
		"+86 (0) 138 0013 8000":               "+8613800138000",
		"00 86 138 0013 8000":                 "+8613800138000",
		"＋８６１３８００１３８０００":                      "+8613800138000",
		"138–0013—8000":                       "+8613800138000",
		"138−0013‐8000":                       "+8613800138000",
		"138\u20110013\u00ad8000":             "+8613800138000",
		"\u202a138\u00a00013\u30008000":       "+8613800138000",
		"\ufeff138\u200b0013\u200d8000\u2060": "+8613800138000",
		"19900000000":                         "+8619900000000",
		"+12025550100":                        "+12025550100",
		"001 202 555 0100":                    "+12025550100",
		"+852 5123 4567":                      "+85251234567",
		"+44 7700 900123":                     "+447700900123",
	} {
		if got, err := NormalizePhone(in, ""); err != nil || got != want {
			t.Errorf("%q becomes %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestNormalizePhoneRegionIsForNumbersWithoutCountryCode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"2025550100": "+12025550100", "+8613800138000": "+8613800138000"} {
		if got, err := NormalizePhone(in, "US"); err != nil || got != want {
			t.Errorf("%q becomes %q, %v, want %q", in, got, err, want)
		}
	}
	if got, err := NormalizePhone("13800138000", "XX"); !errors.Is(err, ErrBadPhone) {
		t.Errorf("an unknown region gives %q, %v", got, err)
	}
}

func TestNormalizePhoneRefusesWhatNoSMSReaches(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "+", "1380013800", "138001380001", "138001380a0", "13800138000 ext 5", "tel:+8613800138000",
		"一三八", "12025550100", "+8612025550100", "010-12345678", "400-800-8000", "110", "+1202555", "+99913800138000",
		"13800138000;5", "13800138000,13900139000", "*13800138000#", "user@138", "13800138000/13900139000x",
		"138\x000013\x008000", strings.Repeat("1", 300), "\xff13800138000", "0020 0000 000 000 000", "13800138000\U0001F600", "13800138000/13900139000", "13800138000 13900139000",
	} {
		got, err := NormalizePhone(in, "CN")
		if !errors.Is(err, ErrBadPhone) {
			t.Errorf("%.40q becomes %q, %v", in, got, err)
			continue
		}
		if len(in) > 5 && strings.Contains(err.Error(), in[:5]) {
			t.Errorf("the error holds the number: %v", err)
		}
	}
}

func FuzzNormalizePhone(f *testing.F) {
	for _, seed := range []string{"13800138000", "+12025550100", "0086-138", "８６", "+1;ext=5", "\u200b", "++1", "/ 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		phone, err := NormalizePhone(raw, "CN")
		if err != nil {
			return
		}
		if again, err := NormalizePhone(phone, "CN"); err != nil || again != phone {
			t.Errorf("%q becomes %q, and that becomes %q, %v", raw, phone, again, err)
		}
	})
}

// Every opened range, and each number of two of them that a prefix of carriers could be read from, is read as the library
// reads it.
func TestPlainMobilesAreReadAsTheLibraryReadsThem(t *testing.T) {
	t.Parallel()
	for prefix := 1300; prefix <= 1999; prefix++ {
		for _, rest := range []string{"0000000", "1234567", "8613800", "9999999"} {
			for _, raw := range []string{strconv.Itoa(prefix) + rest, "+86" + strconv.Itoa(prefix) + rest} {
				got, ok := plainMobile(raw, "CN")
				if want, err := normalizePhone(raw, "CN"); !ok || err != nil || got != want {
					t.Errorf("%s becomes %q, %v, want %q, %v", raw, got, ok, want, err)
				}
			}
		}
	}
	for _, raw := range []string{"", "12000000000", "1380013800", "138001380000", "1380013800a", "8613800138000", "+8512345678901", "２３８００１３８０００"} {
		if got, ok := plainMobile(raw, "CN"); ok {
			t.Errorf("%s is taken for plain: %q", raw, got)
		}
	}
	if got, ok := plainMobile("13800138000", "US"); ok {
		t.Errorf("a number of another region becomes %q", got)
	}
}

func BenchmarkNormalizePhone(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NormalizePhone("13800138000", "CN"); err != nil {
			b.Fatal(err)
		}
	}
}

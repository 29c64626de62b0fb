package push

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// ErrBadPhone says that a text is no phone number that can get an SMS. No error of this package holds the number.
var ErrBadPhone = errors.New("not a phone number")

// chinaMobile is what an SMS can reach in mainland China. It is wider than libphonenumber's table on purpose: the
// table lags behind newly opened ranges.
var chinaMobile = regexp.MustCompile(`^\+861[3-9][0-9]{9}$`)

const chinaCode = 86

// NormalizePhone writes a phone number in E.164 (+8613800138000). A number without country code is read as one of
// region (ISO 3166, "CN" when empty). Spaces, dashes, brackets, dots, full-width digits and invisible characters do
// not matter; letters are refused. A number of mainland China must be a mobile one; of elsewhere it must be possible
// there, since not every country's plan is known to the last range. The error is ErrBadPhone.
func NormalizePhone(raw, region string) (string, error) {
	if region == "" {
		region = "CN"
	}
	if e164, ok := plainMobile(raw, region); ok {
		return e164, nil
	}
	return normalizePhone(raw, region)
}

// plainMobile reads the spellings in which nearly all numbers come, 13800138000 and +8613800138000, as normalizePhone
// would; the library takes two hundred times as long.
func plainMobile(raw, region string) (string, bool) {
	digits, international := strings.CutPrefix(raw, "+86")
	if len(digits) != len("13800138000") || digits[0] != '1' || digits[1] < '3' || !international && region != "CN" {
		return "", false
	}
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return "", false
		}
	}
	return "+86" + digits, true
}

// normalizePhone is NormalizePhone of any spelling.
func normalizePhone(raw, region string) (string, error) {
	if strings.ContainsFunc(raw, isForeignToPhone) {
		return "", fmt.Errorf("%w: it has letters or signs that no number has", ErrBadPhone)
	}
	number, err := phonenumbers.Parse(strings.Map(dropInvisible, raw), region)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadPhone, err)
	}
	e164 := phonenumbers.Format(number, phonenumbers.E164)
	if number.GetCountryCode() == chinaCode {
		if !chinaMobile.MatchString(e164) {
			return "", fmt.Errorf("%w: not a mobile number of mainland China", ErrBadPhone)
		}
		return e164, nil
	}
	if phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE {
		return "", fmt.Errorf("%w: too short or too long for its country", ErrBadPhone)
	}
	again, err := phonenumbers.Parse(e164, region)
	if err != nil || phonenumbers.Format(again, phonenumbers.E164) != e164 {
		return "", fmt.Errorf("%w: a trunk prefix repeats in it", ErrBadPhone) // a retry would read another number
	}
	return e164, nil
}

// isForeignToPhone reports whether r has no place in a phone number: it is no digit, dash, bracket, dot, slash, plus,
// space or invisible sign. Letters would be read as the digits of a keypad or as an extension.
func isForeignToPhone(r rune) bool {
	return !unicode.IsDigit(r) && dropInvisible(r) == r &&
		!unicode.In(r, unicode.Pd, unicode.Ps, unicode.Pe) && !strings.ContainsRune("+＋.．·/−~～ー", r)
}

// dropInvisible removes white space and format characters (zero-width space, joiners, direction marks, BOM).
func dropInvisible(r rune) rune {
	if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

package push

import "strings"

// Mask hides all of a phone, openid or user id but a few characters at its ends: enough for an operator to
// recognise, not enough to use. Short values are hidden whole.
func Mask(s string) string {
	r := []rune(s)
	switch {
	case len(r) == 0:
		return ""
	case len(r) < 8:
		return strings.Repeat("*", len(r))
	}
	return string(r[:3]) + strings.Repeat("*", len(r)-5) + string(r[len(r)-2:])
}

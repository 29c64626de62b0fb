package push

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMask(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "1": "*", "1234567": "*******", "+8613800138000": "+86*********00", "13800138000": "138******00",
		"用户名很长的一个人": "用户名****个人",
	} {
		if got := Mask(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestMaskShowsAtMostFive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789é")), 0, 40, -1).Draw(t, "in")
		got := Mask(in)
		if in != "" && got == in {
			t.Fatalf("%q is shown whole", in)
		}
		if shown := len([]rune(in)) - strings.Count(got, "*"); shown > 5 {
			t.Fatalf("%q shows %d characters: %q", in, shown, got)
		}
	})
}

package chaos

import (
	"testing"
	"time"
)

func TestWhatHasNotRecoveredIsNotStruckAgain(t *testing.T) {
	t.Parallel()
	var all targets
	now := time.Unix(1_800_000_000, 0)
	steps := []struct {
		what string
		on   []string
		at   time.Duration
		want bool
	}{
		{"the first", []string{"a", "b"}, 0, true},
		{"another under the first", []string{"b", "c"}, 0, false},
		{"beside it", []string{"c"}, 0, true},
		{"resting", []string{"a"}, 4 * time.Second, false},
		{"recovered", []string{"a", "b"}, 5 * time.Second, true},
	}
	for _, s := range steps {
		if got := all.take(s.on, now.Add(s.at)); got != s.want {
			t.Errorf("%s: taken %t, want %t", s.what, got, s.want)
		}
		if s.what == "beside it" {
			all.rest([]string{"a", "b"}, now.Add(5*time.Second))
		}
	}
}

package push

import (
	"errors"
	"fmt"
	"testing"
)

func TestFailureOfAnythingUnclassifiedIsAmbiguous(t *testing.T) {
	t.Parallel()
	cause := errors.New("reset")
	if f := FailureOf(cause); f.Class != Ambiguous || f.Code != "unclassified" || !errors.Is(f, cause) {
		t.Errorf("failure = %+v", f)
	}
	known := &Failure{Class: Permanent, Code: "c"}
	if f := FailureOf(fmt.Errorf("sending: %w", known)); f != known {
		t.Errorf("failure = %+v, want the wrapped one", f)
	}
}

func TestFailureSaysClassCodeAndWords(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]*Failure{
		"ambiguous (timeout): no answer": {Code: "timeout", Err: errors.New("no answer")},
		"throttled (c): slow down":       {Class: Throttled, Code: "c", Message: "slow down", Err: errors.New("x")},
		"permanent (c): ":                {Class: Permanent, Code: "c"},
	} {
		if got := f.Error(); got != want {
			t.Errorf("failure says %q, want %q", got, want)
		}
	}
}

func TestClassUsesRetry(t *testing.T) {
	t.Parallel()
	for class, want := range map[Class]struct {
		name string
		uses bool
	}{
		Ambiguous: {"ambiguous", true},
		Accepted:  {"accepted", true},
		NotSent:   {"not_sent", true},
		Throttled: {"throttled", false},
		Permanent: {"permanent", true},
		Account:   {"account", false},
		Class(99): {"ambiguous", true},
	} {
		if class.String() != want.name || class.UsesRetry() != want.uses {
			t.Errorf("%s: uses a retry %v, want %s, %v", class, class.UsesRetry(), want.name, want.uses)
		}
	}
}

package main

import (
	"io"
	"strings"
	"testing"
)

func TestAWrongCommandLineIsCode2(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--for", "0s"}, {"--for", "soon"}, {"--rate", "-1"}, {"--pushers", "0"}, {"--compensators", "0"}, {"--every", "0s"}, {"now"}, {"--what"},
	} {
		var stderr strings.Builder
		if code := run(t.Context(), args, io.Discard, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%v: code %d, %q; want 2 and a word on it", args, code, stderr.String())
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	if code := run(t.Context(), []string{"--help"}, io.Discard, &stderr); code != 0 || !strings.Contains(stderr.String(), "-seed") {
		t.Errorf("code %d, %q; want 0 and the flags", code, stderr.String())
	}
}

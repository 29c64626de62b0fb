package protocol

import (
	"flag"
	"testing"

	"pusher/internal/testbed"
)

// TestMain sets how far a usual run walks; `make model` and the flags themselves ask for more. A walk that fails is
// told with its seed, which repeats it.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "10", "rapid.steps": "40", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil { // before the command line is read, which wins
			panic(err)
		}
	}
	testbed.Main(m)
}

package telemetry

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func TestALineSaidOverAndOverIsKeptBackAndCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := Repeats(zerolog.New(&out))
		for range 1000 {
			log.Warn().Msg("dependency away, trying again")
		}
		log.Warn().Msg("another")
		if n := strings.Count(out.String(), "\n"); n != 3+1 {
			t.Errorf("%d lines, want three of the one and the other", n)
		}
		time.Sleep(repeatEvery)
		log.Warn().Msg("dependency away, trying again")
		if !strings.Contains(out.String(), `"suppressed":997`) {
			t.Errorf("what was kept back is not told:\n%s", out.String())
		}
	})
}

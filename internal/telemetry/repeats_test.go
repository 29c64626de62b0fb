package telemetry

import (
	"bytes"
	"context"
	"io"
	"strconv"
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

// of is a context that tells lines apart.
type of struct {
	context.Context

	kind string
}

func (o of) Alike() string { return o.kind }

// A provider that refuses everything must not hide what another one says.
func TestLinesOfDifferentKindsDoNotKeepEachOtherBack(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Repeats(zerolog.New(&out))
	for range 1000 {
		log.Warn().Ctx(of{t.Context(), "aliyun timeout"}).Msg("attempt ended")
	}
	log.Warn().Ctx(of{t.Context(), "tencent refused"}).Str("provider", "tencent").Msg("attempt ended")
	if n := strings.Count(out.String(), "\n"); n != 3+1 || !strings.Contains(out.String(), "tencent") {
		t.Errorf("%d lines, want three of the one and the other:\n%s", n, out.String())
	}
}

func TestKindsAreBounded(t *testing.T) {
	t.Parallel()
	r := &repeats{now: time.Now, kinds: map[string]*kind{}}
	log := zerolog.New(io.Discard).Hook(r)
	for i := range 3 * kindsMost {
		log.Warn().Ctx(of{t.Context(), strconv.Itoa(i)}).Msg("attempt ended")
	}
	if len(r.kinds) > kindsMost {
		t.Errorf("%d kinds are remembered", len(r.kinds))
	}
}

package compensate

import (
	"testing"

	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

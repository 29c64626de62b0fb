package assemble

import (
	"os"
	"runtime/debug"

	"pusher/internal/config"
)

// The garbage collector's targets where the environment sets none. Of a delivery little lives long and much is short-lived:
// a heap four times what lives costs a quarter of the collections. The limit bounds that: as memory fills, it collects
// as often as it otherwise would.
const (
	heapGrowth = 400      // percent, as GOGC
	heapBase   = 64 << 20 // bytes; what lives besides the records in hand, and room to collect in
)

// Heap sets the garbage collector's targets for this process, for the records that c lets it hold, unless GOGC or
// GOMEMLIMIT do.
func Heap(c *config.Config) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(heapGrowth)
	debug.SetMemoryLimit(heapBase + 2*int64(c.Worker.WaitingBytes)) // a record is held as read, and as decoded
}

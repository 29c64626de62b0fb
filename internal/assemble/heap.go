package assemble

import (
	"os"
	"runtime/debug"

	"pusher/internal/config"
)

// The garbage collector's targets where the environment sets none. What a delivery allocates is mostly short-lived: a heap
// that may grow by four times what lives, instead of by once, takes a quarter of the collections. The limit bounds that:
// as memory fills, it is collected as often as it otherwise would be.
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

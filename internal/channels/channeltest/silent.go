package channeltest

import (
	"io"
	"log" //nolint:depguard // what net/http takes for a log
)

// silent is a log for servers whose clients fail on purpose.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

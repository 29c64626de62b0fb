package local

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports below those that the system hands out by itself (Linux: from 32768, macOS: from 49152), so that no outgoing
// connection takes a server's port while the server is restarted.
const (
	firstPort = 20000
	lastPort  = 32000
)

// FreePort finds a TCP port of 127.0.0.1 that nobody listens on.
func FreePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", loopback(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("finding a free port between %d and %d: none in 100 tries", firstPort, lastPort)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

package channels

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
)

// conn is a connection to a provider that knows whether anything was written to it, and that can be made to never
// write again.
type conn struct {
	net.Conn

	writes atomic.Int64 // writes begun
	dead   atomic.Bool
}

// Write counts before it writes: kill either sees the count, or this write sees that the connection is dead.
func (c *conn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	if c.dead.Load() {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// kill resets the connection, so that not even what the kernel still holds leaves later, and returns how many writes
// were begun on it. No write begins after that.
func (c *conn) kill() int64 {
	c.dead.Store(true)
	writes := c.writes.Load()
	_ = c.Close()
	return writes
}

// dial connects; every close of what it returns is a reset (SO_LINGER 0). Nobody misses a byte by that: a connection
// is closed when its answer is read whole, or when its request must go no further.
func dial(dialer *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if tcp, ok := raw.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // refused only by a connection that is closed already
		}
		return &conn{Conn: raw}, nil
	}
}

// under finds our connection below the layers of TLS that net/http put on it; nil when there is none.
func under(c net.Conn) *conn {
	for {
		switch layer := c.(type) {
		case *conn:
			return layer
		case *tls.Conn:
			c = layer.NetConn()
		default:
			return nil
		}
	}
}

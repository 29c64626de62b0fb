package consume_test

import (
	"net"
	"sync"
	"testing"
)

// hole is a way to Kafka that can swallow everything, as a network does that drops packets.
type hole struct {
	mu  sync.Mutex
	dug chan struct{} // guarded by mu; closed while bytes pass
}

// holed is a Kafka behind a hole: its broker is known by the hole's address.
func holed(t *testing.T) (cluster, *hole) {
	t.Helper()
	h := &hole{dug: make(chan struct{})}
	close(h.dug)
	k := fakeThrough(t, h.listen).with(1)
	t.Cleanup(h.fill)
	return k, h
}

func (h *hole) dig() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dug = make(chan struct{})
}

func (h *hole) fill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.dug:
	default:
		close(h.dug)
	}
}

// pass waits while bytes are swallowed.
func (h *hole) pass() {
	h.mu.Lock()
	dug := h.dug
	h.mu.Unlock()
	<-dug
}

// listen is kfake's listener with the hole in each connection.
func (h *hole) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return holedListener{Listener: l, hole: h}, err
}

type holedListener struct {
	net.Listener

	hole *hole
}

func (l holedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return holedConn{Conn: c, hole: l.hole}, err
}

type holedConn struct {
	net.Conn

	hole *hole
}

func (c holedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.hole.pass()
	return n, err
}

func (c holedConn) Write(b []byte) (int, error) {
	c.hole.pass()
	return c.Conn.Write(b)
}

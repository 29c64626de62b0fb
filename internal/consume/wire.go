package consume

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// errCut is what a dial on a cut wire ends with.
var errCut = errors.New("connection cut: closing")

// wire is the set of TCP connections of one kafka-go object. kafka-go has calls without any time limit (looking up a
// partition's leader, SASL) and a Close that waits for them: a wire bounds the silence of each connection, notes when a
// broker was last heard, and ends everything at once when it is cut.
type wire struct {
	silence time.Duration // longest wait for bytes where kafka-go sets no limit
	heard   *atomic.Int64 // Unix nanoseconds of the last bytes from a broker; 0: never
	life    context.Context
	end     context.CancelFunc

	mu    sync.Mutex
	conns map[*guarded]struct{} // guarded by mu; open connections, nil once cut
}

func newWire(silence time.Duration, heard *atomic.Int64) *wire {
	life, end := context.WithCancel(context.Background())
	return &wire{silence: silence, heard: heard, life: life, end: end, conns: make(map[*guarded]struct{})}
}

// dial is the DialFunc of kafka-go's dialers and transports.
func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, w.silence)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()

	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if w.life.Err() != nil {
		err = errors.Join(errCut, err)
	}
	if err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		return nil, err
	}
	return w.add(conn)
}

func (w *wire) add(conn net.Conn) (net.Conn, error) {
	g := &guarded{Conn: conn, wire: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conns == nil {
		_ = conn.Close()
		return nil, errCut
	}
	w.conns[g] = struct{}{}
	return g, nil
}

// cut closes every connection and refuses new ones.
func (w *wire) cut() {
	w.end()
	w.mu.Lock()
	conns := w.conns
	w.conns = nil
	w.mu.Unlock()
	for g := range conns {
		_ = g.Conn.Close()
	}
}

// guarded is a connection that waits no longer than its wire's silence where nobody set a deadline.
type guarded struct {
	net.Conn

	wire *wire

	mu    sync.Mutex // held while a deadline is set, so that the default never overwrites kafka-go's own
	read  bool       // guarded by mu; kafka-go has set a read deadline
	write bool       // guarded by mu; kafka-go has set a write deadline
}

// Read reads, and notes that the broker was heard.
func (g *guarded) Read(b []byte) (int, error) {
	g.mu.Lock()
	if !g.read {
		_ = g.Conn.SetReadDeadline(time.Now().Add(g.wire.silence))
	}
	g.mu.Unlock()
	n, err := g.Conn.Read(b)
	if n > 0 {
		g.wire.heard.Store(time.Now().UnixNano())
	}
	return n, err
}

// Write writes.
func (g *guarded) Write(b []byte) (int, error) {
	g.mu.Lock()
	if !g.write {
		_ = g.Conn.SetWriteDeadline(time.Now().Add(g.wire.silence))
	}
	g.mu.Unlock()
	return g.Conn.Write(b)
}

// SetDeadline sets both deadlines; the zero time gives them back to the wire.
func (g *guarded) SetDeadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read, g.write = !t.IsZero(), !t.IsZero()
	return g.Conn.SetDeadline(t)
}

// SetReadDeadline sets the read deadline; the zero time gives it back to the wire.
func (g *guarded) SetReadDeadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read = !t.IsZero()
	return g.Conn.SetReadDeadline(t)
}

// SetWriteDeadline sets the write deadline; the zero time gives it back to the wire.
func (g *guarded) SetWriteDeadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.write = !t.IsZero()
	return g.Conn.SetWriteDeadline(t)
}

// Close closes, and leaves the wire.
func (g *guarded) Close() error {
	g.wire.mu.Lock()
	delete(g.wire.conns, g)
	g.wire.mu.Unlock()
	return g.Conn.Close()
}

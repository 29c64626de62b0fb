package e2e

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"pusher/internal/config"
)

// line is a TCP proxy in front of one server, for the test to break.
type line struct {
	net.Listener

	mu       sync.Mutex
	upstream string                    // guarded by mu
	conns    map[net.Conn]bool         // guarded by mu; both sides of every connection
	open     chan struct{}             // guarded by mu; closed while bytes pass
	lose     func(request []byte) bool // guarded by mu; says of which requests the answer is lost, with the connection
	slow     time.Duration             // guarded by mu; how late each answer comes
}

// newLine opens a line that ends with the test.
func newLine(t *testing.T, upstream string) *line {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{Listener: listener, upstream: upstream, conns: map[net.Conn]bool{}, open: make(chan struct{})}
	close(l.open)
	var serving sync.WaitGroup // the cleanup waits for it
	serving.Go(func() { l.serve(&serving) })
	t.Cleanup(func() {
		_ = l.Close()
		l.delay(0)
		l.fill()
		l.cut()
		serving.Wait()
	})
	return l
}

func (l *line) addr() string { return l.Addr().String() }

// dig swallows everything from now on, as a network does that drops packets; fill ends it.
func (l *line) dig() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = make(chan struct{})
}

func (l *line) fill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
	default:
		close(l.open)
	}
}

// cut closes every connection.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Close()
	}
}

// losing forwards the requests that which names, and cuts the connection instead of passing on their answers.
func (l *line) losing(which func(request []byte) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = which
}

// delay makes each answer come late from now on; 0 lets out at once what waits.
func (l *line) delay(slow time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slow = slow
}

// late waits as long as an answer is delayed.
func (l *line) late() {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		over := time.Since(began) >= l.slow
		l.mu.Unlock()
		if over {
			return
		}
	}
}

func (l *line) serve(all *sync.WaitGroup) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		upstream := l.upstream
		l.mu.Unlock()
		server, err := new(net.Dialer).Dial("tcp", upstream)
		if err != nil {
			_ = client.Close()
			continue
		}
		c := &connection{line: l, client: client, server: server}
		l.mu.Lock()
		l.conns[client], l.conns[server] = true, true
		l.mu.Unlock()
		all.Go(c.requests)
		all.Go(c.answers)
	}
}

// connection is one client at its server.
type connection struct {
	line           *line
	client, server net.Conn

	mu   sync.Mutex
	lost bool // guarded by mu; the next answer is dropped, and the connection with it
}

func (c *connection) close() {
	_ = c.client.Close()
	_ = c.server.Close()
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	delete(c.line.conns, c.client)
	delete(c.line.conns, c.server)
}

// through waits while bytes are swallowed, and says whether the answer to this request is to be lost.
func (c *connection) through(request []byte) (lose bool) {
	c.line.mu.Lock()
	open := c.line.open
	c.line.mu.Unlock()
	<-open
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	return request != nil && c.line.lose != nil && c.line.lose(request)
}

func (c *connection) requests() {
	defer c.close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := c.client.Read(buffer)
		if n > 0 {
			if c.through(buffer[:n]) {
				c.mu.Lock()
				c.lost = true
				c.mu.Unlock()
			}
			if _, err := c.server.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *connection) answers() {
	defer c.close()
	buffer := make([]byte, 1<<20)
	for {
		n, err := c.server.Read(buffer)
		c.through(nil)
		c.line.late()
		c.mu.Lock()
		lost := c.lost
		c.mu.Unlock()
		if err != nil || lost {
			return
		}
		if _, err := c.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// postgresLine is a line to the system's PostgreSQL, with the configuration that goes through it. Statements are sent
// with their text, so that the line can tell them apart.
func (s *system) postgresLine() (*line, *config.Config) {
	s.t.Helper()
	u, err := url.Parse(s.cfg.Postgres.URL.Reveal())
	if err != nil {
		s.t.Fatal(err)
	}
	l := newLine(s.t, u.Host)
	u.Host = l.addr()
	return l, s.but(func(c *config.Config) {
		c.Postgres.URL, c.Postgres.StatementCache = config.Secret(u.String()), false
	})
}

// everyNth picks each nth request that contains one of the texts.
func everyNth(nth int, texts ...string) func([]byte) bool {
	seen := 0
	return func(request []byte) bool {
		for _, text := range texts {
			if bytes.Contains(request, []byte(text)) {
				seen++
				return seen%nth == 0
			}
		}
		return false
	}
}

// oneIn picks each request that contains one of the texts with the chance of one in n.
func oneIn(n int, texts ...string) func([]byte) bool {
	about := everyNth(1, texts...)
	return func(request []byte) bool { return about(request) && rand.IntN(n) == 0 }
}

package channels

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pusher/internal/push"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTransport(t *testing.T) *Transport {
	t.Helper()
	transport := NewTransport()
	t.Cleanup(transport.Close)
	return transport
}

func post(ctx context.Context, t *testing.T, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listen accepts connections and hands each to serve, one after the other; it ends with the test.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // the cleanup waits for it
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serve(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}

// Step 4 of section 1 of docs/protocol.md: when a request's time is over its connection is reset, so that what the
// kernel still holds never arrives.
func TestNothingLeavesAfterTheEnd(t *testing.T) {
	t.Parallel()
	const size = 32 << 20 // more than two socket buffers hold
	body := strings.Repeat("x", size)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	over, rest := make(chan struct{}), make(chan error, 1)
	url := listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1)) // the request is on its way
		cancel()
		<-over
		_, err := io.Copy(io.Discard, c)
		rest <- err
	})
	_, _, err := newTransport(t).Do(post(ctx, t, url, body))
	close(over)
	if f := push.FailureOf(err); f.Class != push.Ambiguous || f.Code != CodeCanceled {
		t.Fatalf("failure %v, want ambiguous canceled", err)
	}
	if err := <-rest; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the rest of the request ends with %v, want a reset", err)
	}
}

// A provider that closes an idle connection must not make the next request fail, if nothing of it was written.
func TestIdleConnectionThatWasClosedIsNoFailure(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		served.Add(1)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	}))
	t.Cleanup(server.Close)
	transport := newTransport(t)
	for range 20 {
		_, _, err := transport.Do(post(context.Background(), t, server.URL, "{}"))
		if err != nil && push.FailureOf(err).Class != push.Ambiguous {
			t.Fatalf("failure %v; a lost race with the close is ambiguous, nothing else", err)
		}
	}
	if served.Load() == 0 || served.Load() > 20 {
		t.Errorf("%d requests served, want at most one for each made", served.Load())
	}
}

func TestDialTimeoutLeftNothing(t *testing.T) {
	t.Parallel()
	transport := newTransport(t)
	transport.http.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, _, err := transport.Do(post(ctx, t, "http://127.0.0.1:1", "{}"))
	if f := push.FailureOf(err); f.Class != push.NotSent || !f.Unsent || f.Code != CodeTimeout {
		t.Errorf("failure %v, want an unsent timeout", err)
	}
}

func TestOneConnectionServesManyRequests(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{}`)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	transport := newTransport(t)
	for range 10 {
		body, status, err := transport.Do(post(context.Background(), t, server.URL, "{}"))
		if err != nil || status != http.StatusOK || string(body) != "{}" {
			t.Fatalf("answer %s %d %v", body, status, err)
		}
	}
	if connections.Load() != 1 {
		t.Errorf("%d connections for ten requests, want one", connections.Load())
	}
}

// Whatever the moment of the cancellation: "nothing left" is never said of a request that the server read.
func TestUnsentIsNeverSaidOfWhatLeft(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards seen
	seen := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.Header.Get("X-Number")] = true
		mu.Unlock()
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(server.Close)
	transport := newTransport(t)
	unsentOnes := map[string]bool{}
	for i := range 400 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Microsecond)
		r := post(ctx, t, server.URL, "{}")
		number := strings.Repeat("i", i)
		r.Header.Set("X-Number", number)
		_, _, err := transport.Do(r)
		cancel()
		if err != nil && push.FailureOf(err).Unsent {
			unsentOnes[number] = true
		}
	}
	server.Close() // waits for every handler
	mu.Lock()
	defer mu.Unlock()
	for number := range unsentOnes {
		if seen[number] {
			t.Errorf("request %d was said to be unsent, and arrived", len(number))
		}
	}
	t.Logf("%d unsent, %d arrived", len(unsentOnes), len(seen))
}

// recorder is a connection that records whether a write reached it.
type recorder struct {
	net.Conn

	written atomic.Int64
}

func (r *recorder) Write(p []byte) (int, error) {
	r.written.Add(1)
	return len(p), nil
}

func (r *recorder) Close() error { return nil }

// The evidence is exact: a write that kill did not count does not happen.
func TestKillCountsOrStopsEveryWrite(t *testing.T) {
	t.Parallel()
	for range 2000 {
		under := new(recorder)
		c := &conn{Conn: under}
		wrote := make(chan error, 1)
		go func() { // wrote waits for it
			_, err := c.Write([]byte("x"))
			wrote <- err
		}()
		counted := c.kill()
		if err := <-wrote; counted == 0 && (err == nil || under.written.Load() != 0) {
			t.Fatal("a write happened that kill did not count")
		}
		if _, err := c.Write(nil); !errors.Is(err, net.ErrClosed) {
			t.Fatalf("a dead connection writes: %v", err)
		}
	}
}

func TestParseEndpoint(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "https://own.example",
		"http://127.0.0.1:9000":        "http://127.0.0.1:9000",
		"http://127.0.0.1:9000/":       "http://127.0.0.1:9000",
		"https://proxy.example/aliyun": "https://proxy.example/aliyun",
	} {
		if got, err := ParseEndpoint(in, "https://own.example"); err != nil || got.String() != want {
			t.Errorf("%q gives %v, %v; want %s", in, got, err, want)
		}
	}
	for _, bad := range []string{"127.0.0.1:9000", "ftp://x", "http://", "http://x?a=b", "http://u:pw@x", "::"} {
		if _, err := ParseEndpoint(bad, ""); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q gives %v, want an error without its password", bad, err)
		}
	}
}

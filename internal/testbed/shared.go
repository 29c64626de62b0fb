package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// startPatience bounds the start of a server, the first fetch of an image or of PostgreSQL's programs included.
const startPatience = 5 * time.Minute

// shared holds the servers that all tests of this process share.
var shared bed //nolint:gochecknoglobals // one set of servers a process is the point of this package

// bed starts each server when the first test asks for it.
type bed struct {
	mu      sync.Mutex // guards what follows, and lets others wait while one test starts a server
	servers map[string]*Server
	errs    map[string]error // a server that did not start is not tried again
}

// server is the process's one server of that name; the test fails where it cannot be had.
func (b *bed) server(t testing.TB, name string) *Server {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.servers == nil {
		b.servers, b.errs = map[string]*Server{}, map[string]error{}
	}
	if b.servers[name] == nil && b.errs[name] == nil {
		// Not the test's context: the server outlives the test that happens to come first.
		ctx, cancel := context.WithTimeout(context.Background(), startPatience)
		defer cancel()
		server, err := Start(ctx, name)
		if b.errs[name] = err; err == nil {
			b.servers[name] = server
			fmt.Fprintln(os.Stderr, server)
		}
	}
	if err := b.errs[name]; err != nil {
		t.Fatal(err)
	}
	return b.servers[name]
}

func (b *bed) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, server := range b.servers {
		errs = append(errs, server.Close())
	}
	clear(b.servers)
	return errors.Join(errs...)
}

// Main is the TestMain of a package whose tests use this one: it runs the tests, stops the servers that they started,
// and then looks for goroutines left behind.
func Main(m *testing.M, opts ...goleak.Option) { goleak.VerifyTestMain(closing{m}, opts...) }

// closing is a test run that ends by closing the shared servers.
type closing struct{ m *testing.M }

// Run runs the tests.
func (c closing) Run() int {
	code := c.m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

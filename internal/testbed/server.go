package testbed

import (
	"context"
	"fmt"
)

// Kind is where a server comes from.
type Kind string

// The kinds, in the order in which they are tried.
const (
	Given     Kind = "given"     // named by the environment
	Container Kind = "container" // testcontainers-go
	Local     Kind = "local"     // a process of this machine
	Embedded  Kind = "embedded"  // works anywhere
)

// Server is one running Kafka, Redis or PostgreSQL.
type Server struct {
	Name    string // kafka, redis or postgres
	Kind    Kind
	Version string // as far as it is known
	Addr    string // host:port, the same over restarts
	URL     string // postgres://..., for postgres only

	engine engine // nil when given: not ours to stop
}

// engine is what runs a server. Stop keeps the data for the next Start, Close removes them.
type engine interface {
	Start(ctx context.Context) error
	Stop() error
	Close() error
}

// String says what it is: "kafka: local 4.1.2 on 127.0.0.1:29092".
func (s *Server) String() string {
	return fmt.Sprintf("%s: %s %s on %s", s.Name, s.Kind, s.Version, s.Addr)
}

// Env is the setting that gives this server to other test processes: TESTBED_KAFKA=127.0.0.1:29092.
func (s *Server) Env() string {
	if s.URL != "" {
		return services[s.Name].env + "=" + s.URL
	}
	return services[s.Name].env + "=" + s.Addr
}

// Close stops the server and removes its data; a given one is left alone.
func (s *Server) Close() error {
	if s.engine == nil {
		return nil
	}
	return s.engine.Close()
}

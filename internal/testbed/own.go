package testbed

import (
	"context"
	"testing"
)

// Own is a server that one test has for itself, to stop and start as it likes. It ends with the test.
type Own struct {
	*Server

	t testing.TB
}

// OwnKafka starts a Kafka for this test alone.
func OwnKafka(t testing.TB) *Own { t.Helper(); return own(t, "kafka") }

// OwnRedis starts a Redis for this test alone. It keeps its data over Stop and Start.
func OwnRedis(t testing.TB) *Own { t.Helper(); return own(t, "redis") }

// OwnPostgres starts a PostgreSQL for this test alone; MigratedDatabase makes a database in it.
func OwnPostgres(t testing.TB) *Own { t.Helper(); return own(t, "postgres") }

func own(t testing.TB, name string) *Own {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	server, err := Fresh(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("closing %s: %v", server, err)
		}
	})
	return &Own{Server: server, t: t}
}

// Stop shuts the server down and returns once it is gone. Its data stay.
func (o *Own) Stop() {
	o.t.Helper()
	if err := o.engine.Stop(); err != nil {
		o.t.Errorf("stopping %s: %v", o, err)
	}
}

// Kill ends the server at once where its kind can (a process), and stops it otherwise. Its data stay.
func (o *Own) Kill() {
	o.t.Helper()
	killer, ok := o.engine.(interface{ Kill() error })
	if !ok {
		o.Stop()
		return
	}
	if err := killer.Kill(); err != nil {
		o.t.Errorf("killing %s: %v", o, err)
	}
}

// Start starts the stopped server on the same port with the same data, and returns once it answers.
func (o *Own) Start() {
	o.t.Helper()
	if err := o.engine.Start(o.t.Context()); err != nil {
		o.t.Errorf("starting %s again: %v", o, err)
	}
}

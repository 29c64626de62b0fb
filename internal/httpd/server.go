package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The server's bounds.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second // a profile or a large page
	idleTimeout   = time.Minute
	closeTimeout  = 5 * time.Second // for requests under way when the server ends
	maxHeader     = 64 << 10
)

// Server is the HTTP door. Make it with New, hang pages on Mux, then Listen and Serve once each.
type Server struct {
	Mux   *http.ServeMux
	TLS   *tls.Config   // nil: plain
	Grace time.Duration // for requests under way when the server ends; 0: five seconds

	listener net.Listener
	atEnd    []func()
}

// New makes a server with /healthz, /readyz over the checks, and /metrics.
func New(metrics http.Handler, checks []Check) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": statusOK})
	})
	mux.HandleFunc("GET /readyz", ready(checks))
	mux.Handle("GET /metrics", metrics)
	return &Server{Mux: mux}
}

// Listen takes the address, so that one already in use is known before anything else starts.
func (s *Server) Listen(ctx context.Context, addr string) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", addr, err)
	}
	s.listener = listener
	return nil
}

// AtEnd has something done when the server begins to end: streams that would outlive every patience are to end then.
// Call it before Serve.
func (s *Server) AtEnd(do func()) { s.atEnd = append(s.atEnd, do) }

// Addr is the address taken; of port 0, the one that was found.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers until ctx ends, then gives requests under way the grace. It returns nil after such an end.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler: s.Mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, TLSConfig: s.TLS,
	}
	for _, do := range s.atEnd {
		server.RegisterOnShutdown(do)
	}
	ended := make(chan error, 1) // Serve waits for it below
	go func() {
		if s.TLS != nil {
			ended <- server.ServeTLS(s.listener, "", "")
			return
		}
		ended <- server.Serve(s.listener)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serving %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	grace := s.Grace
	if grace <= 0 {
		grace = closeTimeout
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(closing)
	if err != nil {
		err = errors.Join(fmt.Errorf("closing %s: %w", s.Addr(), err), server.Close())
	}
	if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) {
		err = errors.Join(err, serving)
	}
	return err
}

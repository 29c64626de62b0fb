package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/telemetry"
)

// The roles of a child process.
const (
	rolePusher    = "pusher"
	roleFrameless = "frameless"
	roleTutorial  = "tutorial"
	roleGateway   = "gateway"
)

// Instance is a child process: it takes on its role until ctx ends. Its configuration comes from the environment, and
// its metrics are shown at http.addr. With a directory for profiles it leaves two there.
func Instance(ctx context.Context, role string, latency time.Duration, profiles string, stderr io.Writer) (err error) {
	if profiles != "" {
		stop, failed := profile(profiles, role)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	c, _, err := config.Load(os.Getenv(config.Variable), os.LookupEnv, nil)
	if err != nil {
		return err
	}
	log := zerolog.New(stderr).Level(zerolog.WarnLevel)
	if role == roleGateway {
		g, err := assemble.NewGateway(ctx, c, log, "bench")
		if err != nil {
			return err
		}
		return g.Run(ctx)
	}
	assemble.Heap(c)
	stand, err := newProvider(c, latency)
	if err != nil {
		return err
	}
	switch role {
	case rolePusher:
		return pusher(ctx, c, stand, log)
	case roleFrameless:
		return shown(ctx, c, func(m *telemetry.Metrics) error { return frameless(ctx, c, stand, m) })
	case roleTutorial:
		return shown(ctx, c, func(m *telemetry.Metrics) error { return tutorial(ctx, c, stand, m) })
	}
	return fmt.Errorf("no role %q", role)
}

// pusher is the real one, with a provider that is no farther than a function call.
func pusher(ctx context.Context, c *config.Config, stand *provider, log zerolog.Logger) error {
	p, err := assemble.NewPusher(ctx, c, log, "bench")
	if err != nil {
		return err
	}
	p.Replace(push.SMS, stand)
	return p.Run(ctx)
}

// shown runs do with metrics like the pusher's.
func shown(ctx context.Context, c *config.Config, do func(*telemetry.Metrics) error) error {
	metrics := telemetry.New("bench")
	server := &http.Server{Addr: c.HTTP.Addr, Handler: metrics.Handler(), ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }() // ends by Close below
	err := do(metrics)
	if ctx.Err() != nil {
		err = nil // told to stop
	}
	_ = server.Close()
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

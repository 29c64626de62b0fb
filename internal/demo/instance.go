package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pusher/internal/assemble"
)

// instance is one pusher of the demo.
type instance struct {
	pusher *assemble.Pusher
	stop   context.CancelFunc
	ended  chan error // gets Run's end; read once, by halt
	halted bool
}

func (s *show) startInstance(ctx context.Context) error {
	p, err := assemble.NewPusher(ctx, s.world.cfg, s.Log, "demo")
	if err != nil {
		return err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	i := &instance{pusher: p, stop: stop, ended: make(chan error, 1)}
	go func() { i.ended <- p.Run(life) }() // halt waits for it
	s.instances = append(s.instances, i)
	return nil
}

// restart ends one instance as a rolling update does and starts another.
func (s *show) restart(ctx context.Context) error {
	if err := s.instances[1].halt(); err != nil {
		return err
	}
	return s.startInstance(ctx)
}

// halt ends an instance and waits for it.
func (i *instance) halt() error {
	if i.halted {
		return nil
	}
	i.halted = true
	i.stop()
	select {
	case err := <-i.ended:
		if err != nil {
			return fmt.Errorf("ending an instance: %w", err)
		}
		return nil
	case <-time.After(instanceStop):
		return errors.New("an instance did not end in time")
	}
}

// lag is how many records the running instances have not taken care of.
func (s *show) lag() int64 {
	var lag int64
	for _, i := range s.instances {
		if !i.halted {
			lag += i.pusher.Lag()
		}
	}
	return lag
}

func (s *show) stopUnlessStaying() {
	if !s.Stay {
		s.halt()
	}
}

func (s *show) halt() {
	if s.producers != nil {
		if err := s.producers.close(); err != nil {
			s.Log.Warn().Err(err).Msg("closing the front door")
		}
		s.producers = nil
	}
	for _, i := range s.instances {
		if err := i.halt(); err != nil {
			s.Log.Warn().Err(err).Msg("stopping")
		}
	}
}

// stay keeps the system up for a look around.
func (s *show) stay(ctx context.Context) {
	for _, i := range s.instances {
		if !i.halted {
			addr := i.pusher.Addr()
			_, _ = fmt.Fprintf(s.Err, "A pusher serves http://%s/readyz and /metrics; its console is at http://%s/console/\n", addr, addr)
		}
	}
	_, _ = fmt.Fprintf(s.Err, "The gateway is described at http://%s/docs; a credential: %s\n", s.producers.door.Addr(), s.producers.credential)
	_, _ = fmt.Fprintf(s.Err, "The console's token: %s\n", DemoToken)
	_, _ = fmt.Fprintf(s.Err, "The providers' journal: %s/_sandbox/journal?limit=20\nThe push log: %s\nCtrl-C ends everything.\n",
		s.world.sandbox.URL(), s.world.cfg.Postgres.URL.Reveal())
	<-ctx.Done()
	s.halt()
}

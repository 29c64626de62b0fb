package assemble

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"pusher/internal/config"
	"pusher/internal/console"
	"pusher/internal/receipts"
	"pusher/internal/store"
)

const (
	officeConns = 4               // to the push log, of the console's own: pages wait for pages, never deliveries for them
	officeOpen  = 3 * time.Second // for the push log's first answer
)

// console hangs the operators' pages. They are there from the first moment on, also while the pusher waits for Redis.
func (p *Pusher) console() error {
	zone, err := time.LoadLocation(p.cfg.Dedup.Zone)
	if err != nil {
		return err // Load has checked it
	}
	_, proxies := p.cfg.Receipts.Prefixes()
	rooms := &office{cfg: p.cfg}
	pages, err := console.New(console.Config{
		OperatorToken: p.cfg.HTTP.OperatorToken.Reveal(), ViewerToken: p.cfg.HTTP.ViewerToken.Reveal(), Zone: zone,
		Address: func(r *http.Request) netip.Addr { return receipts.Client(r, proxies) }, Log: p.log, Now: time.Now,
	}, rooms.source)
	if errors.Is(err, console.ErrOff) {
		p.log.Info().Msg(err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	pages.Hang(p.http.Mux)
	p.http.AtEnd(pages.Close)
	p.closers.add("console", rooms.close)
	p.closers.simple("live pages", pages.Close)
	return nil
}

// office is where operators sit: what the pages read and what does their work, opened when the first of them comes.
type office struct {
	cfg *config.Config

	mu      sync.Mutex
	open    bool           // guarded by mu
	desk    console.Source // guarded by mu
	closers closers        // guarded by mu
}

// source opens what is not open yet; an error is tried again by the next who comes.
func (o *office) source() (console.Source, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open {
		return o.desk, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), officeOpen)
	defer cancel()
	own := *o.cfg
	own.Postgres.MaxConns = min(own.Postgres.MaxConns, officeConns)
	log, err := migrated(ctx, &own, "pusher console")
	if err != nil {
		return console.Source{}, err
	}
	if err := o.furnish(log); err != nil {
		log.Close()
		return console.Source{}, err
	}
	o.closers.simple("postgres", log.Close)
	o.open = true
	return o.desk, nil
}

// furnish adds the dedup keys and a publisher to an open push log; neither asks whether its service answers.
func (o *office) furnish(log *store.Store) error {
	keys, closeKeys, err := Keys(o.cfg)
	if err != nil {
		return err
	}
	producer, err := Producer(o.cfg)
	if err != nil {
		return errors.Join(err, closeKeys())
	}
	o.closers.add("redis", func(context.Context) error { return closeKeys() })
	o.closers.add("kafka", producer.Close)
	o.desk = console.Source{Log: log, Figures: log, Desk: Desk(o.cfg, log, keys, producer)}
	return nil
}

func (o *office) close(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closers.close(ctx)
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"pusher/internal/assemble"
	"pusher/internal/gateway"
)

// How the producers behave.
const (
	atOnce    = 32                    // posts under way
	soonAgain = 50 * time.Millisecond // whoever got no answer asks again
	postMost  = 60 * time.Second      // for a request, over all its posts
)

// producers send the events through a gateway, and are impatient: they post the same request several times at once,
// and hang up before the answer.
type producers struct {
	door       *assemble.Gateway
	credential string
	client     *gateway.Client
	hasty      *hasty
	stop       context.CancelFunc
	ended      chan error // gets the door's end; read once, by close
	requests   atomic.Int64
	replays    atomic.Int64
}

// openDoor starts the gateway and gathers the producers.
func (s *show) openDoor(ctx context.Context) (*producers, error) {
	door, err := assemble.NewGateway(ctx, s.world.cfg, s.Log, "demo")
	if err != nil {
		return nil, fmt.Errorf("opening the front door: %w", err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &producers{door: door, credential: s.world.credential, stop: stop, ended: make(chan error, 1)}
	go func() { p.ended <- door.Run(life) }() // close waits for it
	p.hasty = &hasty{next: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	p.client = &gateway.Client{
		URL: "http://" + door.Addr(), Credential: p.credential, HTTP: &http.Client{Transport: p.hasty}, Wait: soonAgain,
	}
	return p, nil
}

// close closes the door and waits until it is.
func (p *producers) close() error {
	p.hasty.next.CloseIdleConnections()
	p.stop()
	return <-p.ended
}

// send posts every copy of the events at once, and returns when each is accepted.
func (p *producers) send(ctx context.Context, events []event) error {
	var posts errgroup.Group
	posts.SetLimit(atOnce)
	for _, e := range events {
		p.requests.Add(int64(1 + e.renamed))
		for c := range e.copies {
			posts.Go(func() error { return p.post(ctx, e, c) })
		}
	}
	return posts.Wait()
}

// post sends one copy until it is accepted. The first copy of some events loses its connection.
func (p *producers) post(ctx context.Context, e event, copied int) error {
	ctx, cancel := context.WithTimeout(ctx, postMost)
	defer cancel()
	if copied == 0 && e.cut {
		ctx = context.WithValue(ctx, cutKey{}, new(sync.Once))
	}
	events := [][]byte{e.copied(copied)}
	receipt, err := p.client.Send(ctx, events, gateway.KeyOf(events))
	if err != nil {
		return fmt.Errorf("posting event %s: %w", e.id, err)
	}
	if receipt.Replayed {
		p.replays.Add(1)
	}
	return nil
}

// cutKey is where a request's context has the once of its lost connection.
type cutKey struct{}

// errCut is an answer that came although the producer had hung up.
var errCut = errors.New("the connection was cut before the answer")

// hasty counts posts, and cuts the connection of some once the request is written. Safe for concurrent use.
type hasty struct {
	next  *http.Transport
	posts atomic.Int64
	cuts  atomic.Int64
}

// RoundTrip posts; see hasty.
func (h *hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	h.posts.Add(1)
	cut := false
	if once, ok := r.Context().Value(cutKey{}).(*sync.Once); ok {
		once.Do(func() { cut = true })
	}
	if !cut {
		return h.next.RoundTrip(r)
	}
	h.cuts.Add(1)
	ctx, hangUp := context.WithCancel(r.Context())
	defer hangUp()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { hangUp() }})
	res, err := h.next.RoundTrip(r.WithContext(ctx))
	if err == nil {
		_ = res.Body.Close()
		err = errCut
	}
	return nil, err
}

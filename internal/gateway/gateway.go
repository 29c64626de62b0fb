package gateway

import (
	"errors"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"pusher/internal/dedup"
)

// retrySoon is how long to wait when a service is away.
const retrySoon = 2 * time.Second

// answerBytes is what one event may take of an answer that is kept, in bytes: a refusal with its detail, the name of a
// param in it escaped, and all of it in base64.
const answerBytes = 1024

// Gateway is the door. It is safe for concurrent use.
type Gateway struct {
	cfg    Config
	writer Writer
	rates  map[string]*rate.Limiter // by producer
	room   *semaphore.Weighted      // bytes of requests in hand
	tokens *dedup.Guard[tokenCall, answer]
	prints *dedup.Guard[printed, accepted]
	keyed  http.Handler // answers a request with an Idempotency-Key once
	spec   []byte       // the OpenAPI document
	page   []byte       // the same for people
}

// New makes the door over Redis and Kafka. The error is a setting that cannot work.
func New(cfg Config, client dedup.Client, writer Writer) (*Gateway, error) {
	g := &Gateway{cfg: cfg, writer: writer, rates: limiters(cfg), room: semaphore.NewWeighted(cfg.InHand)}
	var err error
	g.tokens, err = dedup.NewGuard(client, dedup.GuardConfig[tokenCall, answer]{
		Name: "gateway-" + kindToken, Lease: cfg.Lease,
		Key:         func(c tokenCall) (string, error) { return c.id, nil },
		Fingerprint: func(c tokenCall) (string, error) { return c.digest, nil },
		IssuedOnly:  true, DeleteOnSuccess: true, OpenUnknown: true, Observe: g.observe(kindToken),
	})
	if err != nil {
		return nil, err
	}
	g.prints, err = dedup.NewGuard(client, dedup.GuardConfig[printed, accepted]{
		Name: "gateway-" + kindPrint, Lease: cfg.Lease, Window: cfg.PrintWindow, MaxAnswer: answerBytes,
		Key:         func(p printed) (string, error) { return p.key, nil },
		OpenUnknown: true, Observe: g.observe(kindPrint),
	})
	if err != nil {
		return nil, err
	}
	g.keyed, err = dedup.Middleware(client, dedup.MiddlewareConfig{
		Name: "gateway-" + kindKey, Lease: cfg.Lease, Window: cfg.KeyWindow, MaxBody: cfg.MaxBody,
		MaxAnswer: answerBytes * (cfg.MaxBatch + 1), PassDown: cfg.PassDown, OpenUnknown: true,
		Scope: func(r *http.Request) string { return trailOf(r).producer }, Verdict: verdict,
		Fail: g.faulty, Observe: g.observe(kindKey),
	}, http.HandlerFunc(g.events))
	if err != nil {
		return nil, err
	}
	g.spec, g.page, err = document()
	return g, err
}

func (g *Gateway) observe(kind string) func(dedup.Outcome) {
	return func(o dedup.Outcome) { g.cfg.Meter.Guarded(kind, string(o)) }
}

// Hang puts the door's routes on mux. Whatever nobody else has there is answered with a problem, too.
func (g *Gateway) Hang(mux *http.ServeMux) {
	routes := []struct {
		path, method, route string
		handler             http.HandlerFunc
	}{
		{"/v1/events", http.MethodPost, routeEvents, g.authorized(g.replayed)},
		{"/v1/tokens", http.MethodPost, routeTokens, g.authorized(g.issue)},
		{"/v1/openapi.json", http.MethodGet, routePages, g.servesSpec},
		{"/docs", http.MethodGet, routePages, g.servesPage},
		{"/docs/style.css", http.MethodGet, routePages, servesStyle},
	}
	for _, r := range routes {
		mux.Handle(r.method+" "+r.path, g.door(r.route, r.handler))
		mux.Handle(r.path, g.door(r.route, otherwise(r.method)))
	}
	mux.Handle("/", g.door(routePages, func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, &failure{code: codeNotFound})
	}))
}

// otherwise answers every method but the one that a path has, which a GET takes HEAD with.
func otherwise(method string) http.HandlerFunc {
	allow := method + ", OPTIONS"
	if method == http.MethodGet {
		allow = "GET, HEAD, OPTIONS"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		fail(w, r, &failure{code: codeMethod})
	}
}

// replayed is POST /v1/events around the middleware: it notes for the log that the answer was given before.
func (g *Gateway) replayed(w http.ResponseWriter, r *http.Request) {
	if err := g.acceptable(w, r); err != nil {
		fail(w, r, err)
		return
	}
	leave, err := g.enter(r)
	if err != nil {
		fail(w, r, err)
		return
	}
	defer leave()
	g.keyed.ServeHTTP(w, r)
	if w.Header().Get(dedup.HeaderReplayed) != "" {
		trailOf(r).replayed = true
	}
}

// events is POST /v1/events: with a key, which the middleware holds already, with a token, or with neither.
func (g *Gateway) events(w http.ResponseWriter, r *http.Request) {
	req, err := g.read(w, r)
	if err == nil {
		err = g.allow(req.producer, len(req.entries))
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	key, _ := dedup.IdempotencyKey(r.Header) // the middleware has read it
	token := r.Header.Get(HeaderToken)
	switch {
	case token != "":
		g.byToken(w, r, req, token)
	case key != "":
		g.byKey(w, r, req, key)
	default:
		g.byFingerprint(w, r, req)
	}
}

// byKey writes the events of a request whose key the middleware holds.
func (g *Gateway) byKey(w http.ResponseWriter, r *http.Request, req *request, key string) {
	a, err := g.whole(r, req, identify(kindKey, req.producer, key, req.digest))
	if err != nil {
		if f, ok := errors.AsType[*failure](err); ok && f.code == codeUnknown {
			dedup.InDoubt(r.Context())
		}
		fail(w, r, g.failed(req, err))
		return
	}
	g.cfg.Meter.Events(req.producer, arrivedAccepted, a.Accepted)
	g.accept(w, r, a, false)
}

// verdict is what a status says of a key: a request that was not accepted leaves it as it was.
func verdict(status int) dedup.Outcome {
	if status == http.StatusAccepted {
		return dedup.Done
	}
	return dedup.GivenBack
}

// passes reports whether a request that could not be claimed is let through.
func (g *Gateway) passes(err error) bool { return g.cfg.PassDown && errors.Is(err, dedup.ErrUnguarded) }

// faulty answers a request that the middleware does not let through.
func (g *Gateway) faulty(w http.ResponseWriter, r *http.Request, f dedup.Fault) {
	var err error
	switch f.Status {
	case http.StatusBadRequest:
		err = &failure{code: codeBadKey, detail: f.Err.Error()}
		if key, bad := dedup.IdempotencyKey(r.Header); bad == nil && key != "" {
			err = unread(f.Err)
		}
	case http.StatusRequestEntityTooLarge:
		err = unread(f.Err)
	default:
		err = g.failed(&request{producer: trailOf(r).producer}, f.Err)
	}
	fail(w, r, err)
}

// failed says what a guard's error, or that of the handler behind it, means to the producer, and counts its events.
func (g *Gateway) failed(req *request, err error) error {
	var busy *dedup.InProgressError
	f, told := errors.AsType[*failure](err)
	switch {
	case told:
	case errors.As(err, &busy):
		f = &failure{code: codeBusy, retry: max(busy.Left, time.Second)}
	case errors.Is(err, dedup.ErrMismatch):
		f = &failure{code: codeKeyReused}
	case errors.Is(err, dedup.ErrSpent):
		f = &failure{code: codeSpent}
	case errors.Is(err, dedup.ErrUnguarded):
		f = &failure{code: codeRedisAway, retry: retrySoon, err: err}
	default:
		f = &failure{code: codeInternal, err: err}
	}
	if became, ok := map[string]string{
		codeBusy: arrivedBusy, codeRedisAway: arrivedUnwritten, codeKafkaAway: arrivedUnwritten, codeUnknown: arrivedUnknown,
	}[f.code]; ok {
		g.cfg.Meter.Events(req.producer, became, len(req.entries))
	}
	return f
}

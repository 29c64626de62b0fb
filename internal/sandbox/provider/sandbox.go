package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// The providers, as faults and journal name them.
const (
	Aliyun  = "aliyun"
	Tencent = "tencent"
	WeChat  = "wechat"
)

// The keys that the sandbox knows when its Config names none.
const (
	DefaultKeyID  = "sandbox"
	DefaultSecret = "sandbox-secret"
)

// Keys is an account: access key and secret, secret id and key, or app id and secret.
type Keys struct {
	ID     string // [DefaultKeyID]
	Secret string // [DefaultSecret]
}

// Config says how the sandbox behaves; its zero value will do.
type Config struct {
	Seed      uint64           // picks which deliveries meet a fault that has a share
	Aliyun    Keys             // account at Aliyun
	Tencent   Keys             // account at Tencent
	WeChat    Keys             // official account at WeChat
	TokenLife time.Duration    // of a WeChat access token [2h]
	Keep      int              // journal entries kept, the newest [100000]
	Faults    []Fault          // to begin with
	Now       func() time.Time // [time.Now]

	Queries Queries // what the providers answer to questions, to begin with
}

// Sandbox is the stand-in. It is an http.Handler, or a server of its own after Start.
type Sandbox struct {
	cfg     Config
	journal *Journal
	faults  *faults
	guard   *acs3Guard
	tokens  *tokens
	repeats *repeats
	poster  *poster
	queries *queries
	mux     *http.ServeMux

	closing   chan struct{} // closed by Close: ends every stall
	closeOnce sync.Once
	listener  net.Listener
	server    *http.Server
	served    chan struct{} // closed when the serving goroutine has ended; Close waits for it
}

// New makes a sandbox. A fault of cfg that makes no sense is an error.
func New(cfg Config) (*Sandbox, error) {
	cfg = cfg.withDefaults()
	s := &Sandbox{
		cfg:     cfg,
		journal: newJournal(cfg.Keep),
		faults:  &faults{seed: cfg.Seed, now: cfg.Now},
		guard:   &acs3Guard{seen: map[string]time.Time{}},
		tokens:  &tokens{life: cfg.TokenLife, now: cfg.Now, alive: map[string]time.Time{}},
		repeats: &repeats{now: cfg.Now, known: map[string]repeat{}},
		queries: &queries{how: cfg.Queries},
		closing: make(chan struct{}),
	}
	s.poster = newPoster(cfg.WeChat, cfg.Now, s.closing)
	s.mux = s.routes()
	return s, s.SetFaults(cfg.Faults)
}

func (c Config) withDefaults() Config {
	for _, keys := range []*Keys{&c.Aliyun, &c.Tencent, &c.WeChat} {
		if keys.ID == "" {
			*keys = Keys{ID: DefaultKeyID, Secret: DefaultSecret}
		}
	}
	if c.TokenLife == 0 {
		c.TokenLife = 2 * time.Hour
	}
	if c.Keep == 0 {
		c.Keep = 100_000
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func (s *Sandbox) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", s.cloud)
	mux.HandleFunc("GET /cgi-bin/token", s.token)
	mux.HandleFunc("POST /cgi-bin/stable_token", s.stableToken)
	mux.HandleFunc("POST /cgi-bin/message/template/send", s.templateSend)
	mux.HandleFunc("GET /_sandbox/faults", s.getFaults)
	mux.HandleFunc("POST /_sandbox/faults", s.postFaults)
	mux.HandleFunc("GET /_sandbox/journal", s.getJournal)
	mux.HandleFunc("GET /_sandbox/receipts", s.getReceipts)
	mux.HandleFunc("POST /_sandbox/receipts", s.postReceipts)
	mux.HandleFunc("GET /_sandbox/queries", s.getQueries)
	mux.HandleFunc("POST /_sandbox/queries", s.postQueries)
	return mux
}

// cloud tells Aliyun's requests from Tencent's: both are a POST to the root.
func (s *Sandbox) cloud(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("X-Acs-Action") != "":
		s.aliyun(w, r)
	case r.Header.Get("X-Tc-Action") != "":
		s.tencent(w, r)
	default:
		http.Error(w, "neither x-acs-action nor X-TC-Action is set", http.StatusBadRequest)
	}
}

// ServeHTTP answers as the provider would whose protocol the request speaks.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Journal is what was accepted.
func (s *Sandbox) Journal() *Journal { return s.journal }

// Start listens on addr ("127.0.0.1:0" for any free port) and serves until Close.
func (s *Sandbox) Start(addr string) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("starting the provider sandbox: %w", err)
	}
	s.listener = listener
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.served = make(chan struct{})
	go func() { // Close waits for it
		defer close(s.served)
		_ = s.server.Serve(listener)
	}()
	return nil
}

// URL is the base URL for each provider's endpoint setting; empty before Start.
func (s *Sandbox) URL() string {
	if s.listener == nil {
		return ""
	}
	return "http://" + s.listener.Addr().String()
}

// Close ends every stall, closes every connection and waits until nothing is served or posted any more.
func (s *Sandbox) Close() error {
	s.closeOnce.Do(func() { close(s.closing) })
	defer s.poster.close()
	if s.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.served
	if err != nil {
		return fmt.Errorf("closing the provider sandbox: %w", err)
	}
	return nil
}

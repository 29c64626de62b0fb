package console

import (
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/rs/zerolog"
)

// Config says who gets in and how pages are shown.
type Config struct {
	OperatorToken string // signs in an operator; empty: nobody acts
	ViewerToken   string // signs in a viewer; empty: only operators look

	Zone    *time.Location                   // of readers whose browser does not tell its own
	Address func(r *http.Request) netip.Addr // who asks, behind our proxies too: whose tries to sign in are counted
	Log     zerolog.Logger
	Now     func() time.Time
}

// ErrOff says that no token is configured, and so nobody could sign in.
var ErrOff = errors.New("the console is off: set http.operator_token (or http.viewer_token) to switch it on")

// Console serves the pages. Make it with New, hang it with Hang, and Close it before its server waits for its clients.
type Console struct {
	cfg     Config
	source  func() (Source, error)
	keeper  keeper
	tongues tongues
	pages   pages
	assets  assets
	live    *live
	tries   ration
	figures counted
}

// New reads what is embedded. source is asked for each page, and says why there is none yet. The error is ErrOff
// without any token.
func New(cfg Config, source func() (Source, error)) (*Console, error) {
	if cfg.OperatorToken == "" && cfg.ViewerToken == "" {
		return nil, ErrOff
	}
	c := &Console{cfg: cfg, source: source, live: newLive(source, cfg)}
	var errs [4]error
	c.keeper, errs[0] = newKeeper(cfg.OperatorToken, cfg.ViewerToken)
	c.tongues, errs[1] = newTongues()
	c.assets, errs[2] = newAssets()
	c.pages, errs[3] = newPages()
	return c, errors.Join(errs[:]...)
}

// Close ends the live streams, and waits for what feeds them.
func (c *Console) Close() { c.live.close() }

// Hang puts the pages on a mux.
func (c *Console) Hang(mux *http.ServeMux) {
	own := http.NewServeMux()
	own.Handle("GET "+root+"assets/{digest}/{name}", c.assets)
	own.HandleFunc("GET "+root+"prefer", c.prefer)
	own.Handle("GET "+root+"signin", c.open(c.signInPage))
	own.Handle("POST "+root+"signin", c.open(c.signIn))
	own.Handle("POST "+root+"signout", c.acts(Viewer, c.signOut))

	own.Handle("GET "+root+"{$}", c.signed(c.overview))
	own.Handle("POST "+root+"search", c.signed(c.search))
	own.Handle("GET "+root+"deliveries", c.signed(c.deliveries))
	own.Handle("GET "+root+"deliveries/{id}", c.signed(c.delivery))
	own.Handle("GET "+root+"actions", c.signed(c.actions))
	own.Handle("GET "+root+"applied", c.signed(c.applied))
	own.Handle("GET "+root+"live", c.signed(c.stream))
	own.Handle("POST "+root+"plan", c.acts(Operator, c.plan))
	own.Handle("POST "+root+"apply", c.acts(Operator, c.apply))
	own.Handle(root, c.signed(func(http.ResponseWriter, *http.Request, *visit) error { return errNoPage }))

	foreign := http.NewCrossOriginProtection() // refuses what another site's page makes a browser send
	mux.Handle(root, guarded(foreign.Handler(own)))
}

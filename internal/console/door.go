package console

import (
	"context"
	"crypto/hmac"
	"errors"
	"net/http"
	"net/url"
	"time"

	"pusher/internal/push"
)

// maxForm bounds what a form may send.
const maxForm = 64 << 10

// The refusals that have a page of their own; see statusOf.
var (
	errNoPage    = errors.New("no such page")
	errForbidden = errors.New("this session may only look")
	errForm      = errors.New("the form is of another session; go back, load the page again")
)

// visit is one request of one reader.
type visit struct {
	tongue

	Session session // zero while not signed in
	Theme   string  // light, dark or auto
	Path    string  // with its query: where to come back to

	from    Source // of who is signed in
	zone    *time.Location
	now     time.Time
	console *Console
}

// page is a handler whose error becomes an error page.
type page func(w http.ResponseWriter, r *http.Request, v *visit) error

// open serves a page to anybody.
func (c *Console) open(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		v := &visit{
			tongue: c.tongues.of(r), Theme: themeOf(r), Path: r.URL.RequestURI(),
			zone: zoneOf(r, c.cfg.Zone), now: c.cfg.Now(), console: c,
		}
		if kept, err := r.Cookie(cookieName); err == nil {
			v.Session, _ = c.keeper.read(kept.Value, v.now)
		}
		if err := p(w, r, v); err != nil {
			c.fail(w, r, v, err)
		}
	})
}

// signed serves a page to who is signed in, and sends others to the door.
func (c *Console) signed(p page) http.Handler {
	return c.open(func(w http.ResponseWriter, r *http.Request, v *visit) (err error) {
		if v.Session.Who != "" {
			if v.from, err = c.source(); err != nil {
				return err
			}
			return p(w, r, v)
		}
		to := root + "signin"
		if r.Method == http.MethodGet && r.URL.Path != root {
			to += "?" + url.Values{"back": {r.URL.RequestURI()}}.Encode()
		}
		if r.Header.Get("Hx-Request") != "" { // a part of a page: the whole page is to go
			w.Header().Set("Hx-Redirect", root+"signin")
			w.WriteHeader(http.StatusUnauthorized)
			return nil
		}
		http.Redirect(w, r, to, http.StatusSeeOther)
		return nil
	})
}

// acts serves a form of who is signed in and has the role; the form must be one of that session's own pages.
func (c *Console) acts(role Role, p page) http.Handler {
	return c.signed(func(w http.ResponseWriter, r *http.Request, v *visit) error {
		if role == Operator && !v.MayAct() {
			return errForbidden
		}
		if !hmac.Equal([]byte(r.PostFormValue("token")), []byte(c.keeper.formToken(v.Session))) {
			return errForm
		}
		return p(w, r, v)
	})
}

// fail shows an error. What the reader did wrong is told; what went wrong here is logged, and told without detail.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, v *visit, err error) {
	code, name := statusOf(err)
	if code >= http.StatusInternalServerError {
		if r.Context().Err() != nil {
			return // the reader is gone, and its going is the error
		}
		c.cfg.Log.Error().Err(err).Str("path", r.URL.Path).Msg("console: a page could not be shown")
	}
	if rendered := c.render(w, code, "error", v, map[string]any{"Name": name}); rendered != nil {
		http.Error(w, http.StatusText(code), code)
	}
}

// statusOf is the answer to an error, and the name of its words.
func statusOf(err error) (code int, name string) {
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, errNoPage), errors.Is(err, push.ErrNotFound):
		return http.StatusNotFound, "error.none"
	case errors.Is(err, errForbidden):
		return http.StatusForbidden, "error.forbidden"
	case errors.Is(err, errForm):
		return http.StatusForbidden, "error.form"
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, "error.large"
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable, "error.slow"
	}
	return http.StatusServiceUnavailable, "error.away"
}

package console

import (
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxName bounds the name under which an operator acts.
const maxName = 64

// signInForm is what the sign-in page shows.
type signInForm struct {
	Back  string // where to go afterwards
	Name  string
	Wrong string // the name of the words that say what was wrong; empty at first
}

// signInPage asks for the token.
func (c *Console) signInPage(w http.ResponseWriter, r *http.Request, v *visit) error {
	if v.Session.Who != "" {
		http.Redirect(w, r, inside(r.URL.Query().Get("back")), http.StatusSeeOther) //nolint:gosec // inside sees to it
		return nil
	}
	return c.render(w, http.StatusOK, "signin", v, signInForm{Back: inside(r.URL.Query().Get("back"))})
}

// signIn opens a session for who has a token. Each try counts against its address until one succeeds.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request, v *visit) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	form := signInForm{Back: inside(r.PostFormValue("back")), Name: nameOf(r.PostFormValue("name"))}
	addr := c.cfg.Address(r)
	if !c.tries.take(addr, v.now) {
		c.cfg.Log.Warn().Stringer("client", addr).Msg("console: too many tries to sign in")
		w.Header().Set("Retry-After", "12")
		form.Wrong = "signin.often"
		return c.render(w, http.StatusTooManyRequests, "signin", v, form)
	}
	role, ok := c.keeper.admit(strings.TrimSpace(r.PostFormValue("secret")))
	switch {
	case !ok:
		c.cfg.Log.Warn().Stringer("client", addr).Msg("console: a wrong token")
		form.Wrong = "signin.wrong"
		return c.render(w, http.StatusForbidden, "signin", v, form)
	case form.Name == "":
		form.Wrong = "signin.nameless"
		return c.render(w, http.StatusUnprocessableEntity, "signin", v, form)
	}
	c.tries.forgive(addr)
	s := c.keeper.open(form.Name, role, v.now)
	http.SetCookie(w, cookie(r, c.keeper.seal(s), s.Until))
	c.cfg.Log.Info().Str("who", s.Who).Str("role", string(role)).Stringer("client", addr).Msg("console: signed in")
	http.Redirect(w, r, form.Back, http.StatusSeeOther)
	return nil
}

// signOut ends the session in this browser.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request, v *visit) error {
	http.SetCookie(w, cookie(r, "", time.Time{}))
	c.cfg.Log.Info().Str("who", v.Session.Who).Msg("console: signed out")
	http.Redirect(w, r, root+"signin", http.StatusSeeOther)
	return nil
}

// nameOf cleans a name for the audit: printable, in one line, bounded; empty when nothing is left.
func nameOf(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	for utf8.RuneCountInString(text) > maxName {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return strings.TrimSpace(text)
}

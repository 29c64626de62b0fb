package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The cookies of what a reader prefers. They are no secret and grant nothing; the zone's is set by app.js.
const (
	cookieLang  = "pusher_lang"
	cookieTheme = "pusher_theme"
	cookieZone  = "pusher_zone"

	preferLife = 365 * 24 * time.Hour
)

// prefer keeps a choice of language or looks, and goes back to where it was made.
func (c *Console) prefer(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for name, allowed := range map[string][]string{"lang": {"en", "zh"}, "theme": {"light", "dark", "auto"}} {
		for _, value := range allowed {
			if query.Get(name) == value {
				http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where the browser speaks TLS
					Name: "pusher_" + name, Value: value, Path: root, Expires: c.cfg.Now().Add(preferLife),
					HttpOnly: true, Secure: secure(r), SameSite: http.SameSiteStrictMode,
				})
			}
		}
	}
	http.Redirect(w, r, inside(query.Get("back")), http.StatusSeeOther) //nolint:gosec // inside sees to it
}

// inside is a path of the console, or its first page where back leads out of it.
func inside(back string) string {
	u, err := url.Parse(back)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, root) || strings.Contains(u.Path, "..") ||
		strings.ContainsAny(back, "\\\r\n") {
		return root
	}
	return u.RequestURI()
}

// themeOf is light, dark, or auto: as the system has it.
func themeOf(r *http.Request) string {
	if chosen, err := r.Cookie(cookieTheme); err == nil && (chosen.Value == "light" || chosen.Value == "dark") {
		return chosen.Value
	}
	return "auto"
}

// zoneOf is the zone of the reader's clock, as its browser told it; otherwise is for browsers that do not.
func zoneOf(r *http.Request, otherwise *time.Location) *time.Location {
	chosen, err := r.Cookie(cookieZone)
	if err != nil {
		return otherwise
	}
	name, err := url.QueryUnescape(chosen.Value)
	if err != nil || name == "" || name == "Local" || len(name) > 64 {
		return otherwise
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return otherwise
	}
	return zone
}

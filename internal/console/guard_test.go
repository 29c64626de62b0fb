package console

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func addr(t *testing.T, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	for _, path := range []string{"/console/", "/console/deliveries", "/console/deliveries/10248", "/console/nowhere", "/console/signin", h.console.assets.path("app.js")} {
		got := v.get(path)
		policy := got.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s", path, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", path, policy)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be sniffed", path)
		}
	}
}

// TestPagesHaveNoInlineScriptOrStyle: what the policy would not run is not there to begin with.
func TestPagesHaveNoInlineScriptOrStyle(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, operatorToken)
	for _, path := range []string{"/console/", "/console/deliveries", "/console/deliveries/10248", "/console/actions"} {
		body := v.get(path).body
		for _, inline := range []string{"<style", " style=", " onclick=", " onload=", "javascript:", "hx-on"} {
			if strings.Contains(body, inline) {
				t.Errorf("%s has %q", path, inline)
			}
		}
		if scripts := strings.Count(body, "<script"); scripts != strings.Count(body, "<script src=\"/console/assets/") {
			t.Errorf("%s: %d scripts", path, scripts)
		}
	}
}

func TestAnotherSitesFormDoesNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	for name, header := range map[string]http.Header{
		"cross site":    {"Sec-Fetch-Site": {"cross-site"}},
		"same site":     {"Sec-Fetch-Site": {"same-site"}},
		"an old one":    {"Origin": {"https://evil.example"}},
		"sandboxed one": {"Origin": {"null"}},
	} {
		v := h.signedIn(t, operatorToken)
		token := v.token()
		v.header = header
		got := v.post("/console/plan", url.Values{"token": {token}, "verb": {"requeue"}, "filter": {"id=10247"}})
		if got.code != http.StatusForbidden {
			t.Errorf("%s: %d", name, got.code)
		}
	}
}

func TestFormsMustBeOfTheSession(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v, other := h.signedIn(t, operatorToken), h.signedIn(t, operatorToken)
	for name, token := range map[string]string{"none": "", "another session's": other.token(), "nonsense": "x"} {
		for _, path := range []string{"/console/plan", "/console/apply", "/console/signout"} {
			got := v.post(path, url.Values{"token": {token}, "verb": {"requeue"}, "filter": {"id=10247"}, "reason": {"mended"}})
			if got.code != http.StatusForbidden {
				t.Errorf("%s with %s: %d", path, name, got.code)
			}
		}
	}
}

func TestViewerChangesNothing(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.signedIn(t, viewerToken)
	token := v.get("/console/").field("token") // a viewer's own, of its sign-out form
	if token == "" {
		t.Fatal("no token")
	}
	for _, path := range []string{"/console/plan", "/console/apply"} {
		got := v.post(path, url.Values{"token": {token}, "verb": {"requeue"}, "filter": {"id=10247"}, "reason": {"mended"}})
		if got.code != http.StatusForbidden {
			t.Errorf("%s: %d", path, got.code)
		}
		got.sees(t, "You may look, not act")
	}
	if got := v.get("/console/deliveries"); strings.Contains(got.body, "/console/plan") {
		t.Error("a viewer is offered to act")
	}
}

func TestAFormHasItsBounds(t *testing.T) {
	t.Parallel()
	h := open(t)
	v := h.signedIn(t, operatorToken)
	got := v.post("/console/search", url.Values{"q": {strings.Repeat("x", maxForm+1)}})
	if got.code != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d", got.code)
	}
}

func TestAssetsAreKeptByBrowsersAndNothingElseIsServed(t *testing.T) {
	t.Parallel()
	h := open(t)
	v := h.visitor(t)
	for name, kind := range map[string]string{"app.css": "text/css", "app.js": "text/javascript", "icon.svg": "image/svg+xml", "htmx.min.js": "text/javascript", "htmx.LICENSE": "text/plain"} {
		got := v.get(h.console.assets.path(name))
		if got.code != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), kind) || !strings.Contains(got.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %s", name, got.code, got.header)
		}
	}
	for _, path := range []string{"/console/assets/old/app.js", h.console.assets.path("none"), h.console.assets.path("..%2Fconsole.go"), h.console.assets.path("")} {
		if got := v.get(path); got.code == http.StatusOK {
			t.Errorf("%s was served", path)
		}
	}
}

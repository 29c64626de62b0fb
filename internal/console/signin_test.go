package console

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestWithoutTokenTheConsoleIsOff(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{}, nil); !errors.Is(err, ErrOff) || !strings.Contains(err.Error(), "http.operator_token") {
		t.Errorf("got %v", err)
	}
}

func TestNothingIsShownBeforeSigningIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	play(h.memory)
	v := h.visitor(t)
	for _, path := range []string{"/console/", "/console/deliveries", "/console/deliveries/10248", "/console/actions", "/console/live", "/console/applied", "/console/nowhere"} {
		got := v.get(path)
		if got.code != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), "/console/signin") {
			t.Errorf("%s: %d to %q", path, got.code, got.header.Get("Location"))
		}
	}
	for _, path := range []string{"/console/plan", "/console/apply", "/console/search", "/console/signout"} {
		if got := v.post(path, url.Values{"q": {"10248"}}); got.code != http.StatusSeeOther || strings.Contains(got.body, "10248") {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
}

func TestTokensOpenTheirRoles(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		token string
		code  int
		acts  bool
	}{
		"operator":           {operatorToken, http.StatusSeeOther, true},
		"viewer":             {viewerToken, http.StatusSeeOther, false},
		"none":               {"", http.StatusForbidden, false},
		"a part":             {operatorToken[:20], http.StatusForbidden, false},
		"another case":       {strings.ToUpper(operatorToken), http.StatusForbidden, false},
		"with space, pasted": {" " + operatorToken + "\n", http.StatusSeeOther, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			play(h.memory)
			v := h.visitor(t)
			got := v.post("/console/signin", url.Values{"name": {"Li Wei"}, "secret": {tc.token}})
			if got.code != tc.code || strings.Contains(got.body, operatorToken) {
				t.Fatalf("got %d %s", got.code, got.body)
			}
			if tc.code != http.StatusSeeOther {
				return
			}
			page := v.get("/console/deliveries/10248")
			if acts := strings.Contains(page.body, "resolve-not-sent"); acts != tc.acts {
				t.Errorf("may act: %v", acts)
			}
		})
	}
}

func TestOnlyATokenThatIsConfiguredOpens(t *testing.T) {
	t.Parallel()
	h := open(t, func(c *Config) { c.OperatorToken = "" })
	if got := h.visitor(t).post("/console/signin", url.Values{"name": {"x"}, "secret": {""}}); got.code != http.StatusForbidden {
		t.Errorf("an empty token opened: %d", got.code)
	}
	if v := h.signedIn(t, viewerToken); v.get("/console/").code != http.StatusOK {
		t.Error("a viewer alone cannot look")
	}
}

func TestSessionCookieIsOutOfReach(t *testing.T) {
	t.Parallel()
	h := open(t)
	for proto, want := range map[string]bool{"http": false, "https": true} {
		v := h.visitor(t)
		v.header.Set("X-Forwarded-Proto", proto)
		got := v.post("/console/signin", url.Values{"name": {"Li Wei"}, "secret": {operatorToken}})
		cookie := got.header.Get("Set-Cookie")
		for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/console/", "Expires="} {
			if !strings.Contains(cookie, part) {
				t.Errorf("%s: the cookie lacks %s: %s", proto, part, cookie)
			}
		}
		if strings.Contains(cookie, "Secure") != want {
			t.Errorf("%s: %s", proto, cookie)
		}
	}
}

func TestSessionThatIsForgedOldOrOfOtherTokensIsNone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	own, err := newKeeper(operatorToken, viewerToken)
	if err != nil {
		t.Fatal(err)
	}
	other, err := newKeeper("another operator's token", viewerToken)
	if err != nil {
		t.Fatal(err)
	}
	s := own.open("Li Wei", Viewer, now)
	value := own.seal(s)
	forged := s
	forged.Role = Operator
	body, _, _ := strings.Cut(own.seal(forged), ".")
	_, signature, _ := strings.Cut(value, ".")
	cases := map[string]struct {
		keeper keeper
		value  string
		at     time.Time
		ok     bool
	}{
		"own":             {own, value, now, true},
		"just before end": {own, value, s.Until.Add(-time.Second), true},
		"over":            {own, value, s.Until, false},
		"other tokens":    {other, value, now, false},
		"raised role":     {own, body + "." + signature, now, false},
		"a form's token":  {own, s.ID + "." + own.formToken(s), now, false},
		"empty":           {own, "", now, false},
		"no signature":    {own, body + ".", now, false},
	}
	for name, tc := range cases {
		if got, ok := tc.keeper.read(tc.value, tc.at); ok != tc.ok || ok && got != s {
			t.Errorf("%s: %v %+v", name, ok, got)
		}
	}
}

func TestGuessingIsSlowedByAddress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	h := open(t, func(c *Config) { c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now } })
	v := h.visitor(t)
	try := func(token string) int {
		return v.post("/console/signin", url.Values{"name": {"x"}, "secret": {token}}).code
	}
	for i := range triesAtOnce {
		if code := try("wrong"); code != http.StatusForbidden {
			t.Fatalf("try %d: %d", i, code)
		}
	}
	if code := try(operatorToken); code != http.StatusTooManyRequests {
		t.Errorf("the right token after too many wrong ones: %d", code)
	}
	mu.Lock()
	now = now.Add(tryEvery)
	mu.Unlock()
	if code := try(operatorToken); code != http.StatusSeeOther {
		t.Errorf("after a wait: %d", code)
	}
	if code := try("wrong"); code != http.StatusForbidden {
		t.Errorf("after a success: %d", code)
	}
}

func TestSignOutEndsTheSession(t *testing.T) {
	t.Parallel()
	v := open(t).signedIn(t, operatorToken)
	if got := v.post("/console/signout", url.Values{"token": {v.token()}}); got.code != http.StatusSeeOther {
		t.Fatalf("got %d", got.code)
	}
	if got := v.get("/console/"); got.code != http.StatusSeeOther {
		t.Errorf("still in: %d", got.code)
	}
}

func TestSigningInComesBackWithinTheConsoleOnly(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"/console/deliveries?status=dead": "/console/deliveries?status=dead",
		"https://evil.example/console/":   "/console/",
		"//evil.example/console/":         "/console/",
		`/\evil.example`:                  "/console/",
		"/console/../metrics":             "/console/",
		"/metrics":                        "/console/",
		"":                                "/console/",
		"/console/\r\nSet-Cookie: a=b":    "/console/",
	}
	for back, want := range cases {
		if got := inside(back); got != want {
			t.Errorf("%q: %q", back, got)
		}
	}
}

func TestNamesAreCleanedForTheAudit(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"  Li   Wei ": "Li Wei", "a\u202eb\x00c\nd": "a b c d", "李伟": "李伟", "": "", " \t": "", "\xff": "",
		strings.Repeat("界", 100): strings.Repeat("界", maxName),
	}
	for text, want := range cases {
		if got := nameOf(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestLogHoldsNoTokenAndNamesWhoSignedIn(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := open(t, func(c *Config) { c.Log = zerolog.New(&log) })
	h.visitor(t).post("/console/signin", url.Values{"name": {"x"}, "secret": {"a wrong token, secret"}})
	h.signedIn(t, operatorToken)
	h.Close() // nobody writes any more
	text := log.String()
	for _, want := range []string{`"who":"Li Wei"`, `"role":"operator"`, `"client":"127.0.0.1"`, "a wrong token"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s: %s", want, text)
		}
	}
	if strings.Contains(text, operatorToken) || strings.Contains(text, "secret") {
		t.Errorf("the log holds a token: %s", text)
	}
}

func TestAddressesShareTheirNetworksRation(t *testing.T) {
	t.Parallel()
	var r ration
	now := time.Now()
	for i := range triesAtOnce {
		if !r.take(addr(t, fmt.Sprintf("2001:db8::%d", i)), now) {
			t.Fatalf("try %d was refused", i)
		}
	}
	if r.take(addr(t, "2001:db8::ffff"), now) {
		t.Error("another address of the same /64 had tries")
	}
	if !r.take(addr(t, "2001:db8:0:1::1"), now) || !r.take(addr(t, "192.0.2.1"), now) {
		t.Error("another network had none")
	}
}

func TestRationForgetsWhoRested(t *testing.T) {
	t.Parallel()
	var r ration
	now := time.Now()
	for i := range addresses {
		r.take(addr(t, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)), now)
	}
	r.take(addr(t, "192.0.2.1"), now.Add(time.Hour))
	if len(r.tries) != 1 {
		t.Errorf("%d addresses are remembered", len(r.tries))
	}
}

package console

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// visitor is a browser without a screen: it keeps cookies and follows no redirect.
type visitor struct {
	t      *testing.T
	base   string
	client *http.Client
	header http.Header // beside the usual
}

// answer is what a request got.
type answer struct {
	code   int
	body   string
	header http.Header
}

func (h *house) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(client.CloseIdleConnections)
	return &visitor{t: t, base: h.URL, client: client, header: http.Header{"Sec-Fetch-Site": {"same-origin"}}}
}

// signedIn is a visitor that has signed in.
func (h *house) signedIn(t *testing.T, token string) *visitor {
	t.Helper()
	v := h.visitor(t)
	if got := v.post("/console/signin", url.Values{"name": {"Li Wei"}, "secret": {token}}); got.code != http.StatusSeeOther {
		t.Fatalf("signing in: %d", got.code)
	}
	return v
}

func (v *visitor) get(path string) answer { return v.do(http.MethodGet, path, nil) }

func (v *visitor) post(path string, form url.Values) answer { return v.do(http.MethodPost, path, form) }

func (v *visitor) do(method, path string, form url.Values) answer {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header = v.header.Clone()
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{got.StatusCode, string(body), got.Header}
}

// field finds the value of a hidden field in a page.
func (a answer) field(name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.body)
	if found == nil {
		return ""
	}
	return strings.NewReplacer("&#43;", "+", "&amp;", "&", "&#34;", `"`, "&#39;", "'").Replace(found[1])
}

// token is the form token of the visitor's session.
func (v *visitor) token() string {
	v.t.Helper()
	return v.get("/console/deliveries").field("token")
}

// sees fails the test where the page lacks a text.
func (a answer) sees(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("the page (%d) lacks %q", a.code, text)
		}
	}
}

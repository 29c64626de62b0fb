package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTroubleIsHeard: a page that breaks its policy, throws, and asks another host is not clean.
func TestTroubleIsHeard(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/clean":
			_, _ = fmt.Fprint(w, `<title>clean</title><link rel="icon" href="data:,"><input id="q">`)
		case "/broken":
			w.Header().Set("Content-Security-Policy", "style-src 'none'; img-src *")
			_, _ = fmt.Fprint(w, `<title>broken</title><link rel="icon" href="data:,"><p style="color: red"><img src="http://127.0.0.2:1/x.png"><script>throw new Error("thrown")</script>`)
		}
	}))
	t.Cleanup(server.Close)
	b := Open(t, server.URL)
	b.Go("/clean")
	b.Type("#q", "typed")
	b.See("what was typed", `document.querySelector("#q").value === "typed"`)
	if list := b.troubles.all(); len(list) > 0 {
		t.Fatalf("a clean page has %v", list)
	}
	b.Go("/broken")
	b.See("the other page", `document.title === "broken"`)
	list := strings.Join(b.troubles.all(), "\n")
	for _, want := range []string{`"style-src-attr"`, "leaves the host: http://127.0.0.2:1/x.png", "thrown"} {
		if !strings.Contains(list, want) {
			t.Errorf("not heard: %s\n%s", want, list)
		}
	}
}

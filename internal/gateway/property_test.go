package gateway

import (
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pusher/internal/testbed"
)

// schemathesis names the program that makes requests from a document; `.ci/gateway` brings it.
const schemathesis = "SCHEMATHESIS"

// TestRequestsMadeFromTheDocument: whatever is made from the document, the answer is one that it has, and no 5xx.
func TestRequestsMadeFromTheDocument(t *testing.T) {
	t.Parallel()
	program := os.Getenv(schemathesis)
	if program == "" {
		t.Skip("set " + schemathesis + " to the program, or run .ci/gateway")
	}
	w := newWorld(t, testbed.Redis(t), nil)
	cmd := exec.CommandContext(t.Context(), program, "run", w.URL+"/v1/openapi.json", "--header", "Authorization: Bearer "+w.secret,
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
		"--phases", "coverage,fuzzing", "--max-examples", "100", "--request-timeout", "20")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

func TestTheDocumentIsServedAndShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	if ok, faults := contract(t, w.gateway.spec).ValidateDocument(); !ok {
		t.Errorf("the document: %v", faults[0].Error())
	}
	spec := w.ask(t, http.MethodGet, "/v1/openapi.json", "")
	page := w.ask(t, http.MethodGet, "/docs", "")
	style := w.ask(t, http.MethodGet, "/docs/style.css", "")
	if spec.text != string(w.gateway.spec) || style.text != string(styleText) {
		t.Error("what is served is not what was made")
	}
	if csp := page.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
		t.Errorf("policy %q", csp)
	}
	for _, word := range []string{"/v1/events", "/v1/tokens", "Idempotency-Key", "application/x-ndjson", "resume_viewed", "token_spent"} {
		if !strings.Contains(page.text, word) {
			t.Errorf("the page lacks %s", word)
		}
	}
	for _, foreign := range []string{"http://", "https://", "<script", "style="} {
		if strings.Contains(page.text, foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}
}

func TestTheDocumentHasEveryStatusThatAProblemMayHave(t *testing.T) {
	t.Parallel()
	spec, _, err := document()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		elsewhere := slices.Contains([]string{codeNotFound, codeMethod}, k.Code) // answers to what the document does not have
		if !elsewhere && !strings.Contains(string(spec), `"`+http.StatusText(k.Status)) && !strings.Contains(string(spec), `"`+k.Code+`"`) {
			t.Errorf("the document lacks %s", k.Code)
		}
	}
}

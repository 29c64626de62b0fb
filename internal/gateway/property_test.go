package gateway

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pusher/internal/dedup"
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
		"--phases", "coverage,fuzzing", "--max-examples", "60", "--request-timeout", "20")
	cmd.Dir = t.TempDir() // it keeps a cache where it runs
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

// TestTheDocumentHasEveryStatusThatAProblemMayHave: each operation has the statuses of its own problems, each with its codes.
func TestTheDocumentHasEveryStatusThatAProblemMayHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	var doc map[string]any
	if err := json.Unmarshal(w.gateway.spec, &doc); err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{codeNotFound, codeMethod} // answers to what the document does not have
	listed := map[string]bool{}
	for path, codes := range problemsOf() {
		has, _ := at(doc, "paths", path, "post", "responses").(map[string]any)
		for _, code := range codes {
			status := strconv.Itoa(kindOf(code).Status)
			if listed[code] = true; !strings.Contains(text(has[status], "description"), code+": ") {
				t.Errorf("%s: %s does not name %s", path, status, code)
			}
		}
		if success := map[string]string{"/v1/events": "202", "/v1/tokens": "201"}[path]; has[success] == nil {
			t.Errorf("%s has no %s", path, success)
		}
	}
	for _, k := range kinds() {
		if !listed[k.Code] && !slices.Contains(elsewhere, k.Code) {
			t.Errorf("%s is of no operation", k.Code)
		}
	}
}

// TestWhateverIsAskedIsAnsweredByTheDocument: requests made up of good and bad parts. world.ask holds each answer to the
// document; here none is a 5xx. It needs nothing but Go, where schemathesis is not at hand.
func TestWhateverIsAskedIsAnsweredByTheDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t, testbed.Redis(t), nil)
	token := w.token(t)
	event := rapid.OneOf(
		rapid.Map(rapid.IntRange(1, 50), event),
		rapid.SampledFrom([]string{
			"null", "{}", "[]", "1e999", `{"biz_type":"viewed","biz_id":-1}`, `{"biz_type":"\ud800","biz_id":1}`,
			`{"biz_type":"viewed","biz_id":1,"recipient":[]}`, "{\"biz_id\":\"\x00\xff\"}", `{"biz_type":"bought","biz_id":1}`,
		}),
		rapid.String(),
	)
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.OneOf(
			event,
			rapid.Map(rapid.SliceOfN(event, 0, 4), func(list []string) string { return array(list...) }),
			rapid.Map(rapid.SliceOfN(event, 0, 4), func(list []string) string { return strings.Join(list, "\n") }),
			rapid.Map(event, func(e string) string {
				return `{"specversion":"1.0","id":"x","source":"s","type":"t","data":` + e + `}`
			}),
		).Draw(rt, "body")
		headers := []string{"Content-Type", rapid.SampledFrom([]string{
			"", typeJSON, typeLines, typeCloud, typeCloudBatch, "text/plain", ";", "application/json; charset",
		}).Draw(rt, "type")}
		credential := rapid.SampledFrom([]string{w.secret, w.secret, w.secret, w.other, "", "x"}).Draw(rt, "credential")
		headers = append(headers, "Authorization", "Bearer "+credential)
		for name, values := range map[string][]string{
			dedup.HeaderKey: {"", "k", `"k"`, `"`, "k k", strings.Repeat("k", 300)},
			HeaderToken:     {"", "", token, "x", token + "x"},
			headerRequest:   {"", "r-1", strings.Repeat("r", 100)},
		} {
			if value := rapid.SampledFrom(values).Draw(rt, name); value != "" {
				headers = append(headers, name, value)
			}
		}
		query := rapid.SampledFrom([]string{"", "?partial=true", "?partial=false", "?partial=1", "?partial=true&partial=true", "?x=%"}).Draw(rt, "query")
		path := rapid.SampledFrom([]string{"/v1/events", "/v1/events", "/v1/events", "/v1/tokens"}).Draw(rt, "path")
		method := rapid.SampledFrom([]string{http.MethodPost, http.MethodPost, http.MethodPost, http.MethodGet, http.MethodPut}).Draw(rt, "method")
		if got := w.ask(t, method, path+query, body, headers...); got.StatusCode >= 500 || t.Failed() {
			rt.Fatalf("answered %d: %s", got.StatusCode, got.text)
		}
	})
}

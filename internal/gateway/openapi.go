package gateway

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"pusher/internal/push"
)

//go:embed page/openapi.json
var openAPI []byte

// document completes the OpenAPI document with what the code says once: the event's own schema, the reasons for which
// one is refused, and the codes of problems. It answers the document, and the page that shows it.
func document() (spec, page []byte, err error) {
	var doc map[string]any
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		return nil, nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	schemas, _ := at(doc, "components", "schemas").(map[string]any)
	event := map[string]any{}
	// References within the schema are to itself; here it stands in another document.
	text := bytes.ReplaceAll(push.Schema(), []byte(`"#/$defs/`), []byte(`"#/components/schemas/Event/$defs/`))
	if err := json.Unmarshal(text, &event); err != nil {
		return nil, nil, fmt.Errorf("reading the event's schema: %w", err)
	}
	delete(event, "$schema")
	delete(event, "$id")
	schemas["Event"] = event
	reason, _ := at(schemas, "Refusal", "properties", "reason").(map[string]any)
	reason["enum"] = reasons()
	code, _ := at(schemas, "Problem", "properties", "code").(map[string]any)
	var codes []string
	for _, k := range kinds() {
		codes = append(codes, k.Code)
	}
	code["enum"] = codes
	for path, codes := range problemsOf() {
		explain(doc, at(doc, "paths", path, "post", "responses"), codes)
	}
	if spec, err = json.MarshalIndent(doc, "", "  "); err != nil {
		return nil, nil, err
	}
	page, err = render(spec)
	return spec, page, err
}

// problemsOf are the codes that each operation may answer with; to what is no operation: not_found, method_not_allowed.
func problemsOf() map[string][]string {
	return map[string][]string{
		"/v1/events": {
			codeBadRequest, codeInvalid, codeBadKey, codeCut, codeSlow, codeNobody, codeForged, codeBusy, codeSpent, codeExpired,
			codeTooLarge, codeMediaType, codeKeyReused, codeRate, codeInternal, codeFull, codeRedisAway, codeKafkaAway, codeUnknown,
		},
		"/v1/tokens": {codeNobody, codeRate, codeInternal, codeRedisAway},
	}
}

// explain makes each of an operation's problems out of the one of components, with the codes of its status.
func explain(doc map[string]any, responses any, codes []string) {
	said := map[string][]string{}
	for _, code := range codes {
		k := kindOf(code)
		status := strconv.Itoa(k.Status)
		said[status] = append(said[status], code+": "+k.Title+".")
	}
	byStatus, _ := responses.(map[string]any)
	for status, lines := range said {
		problem, _ := at(doc, "components", "responses", "Problem").(map[string]any)
		problem = maps.Clone(problem)
		problem["description"] = strings.Join(lines, " ")
		byStatus[status] = problem
	}
}

// reasons are those for which an event is refused here.
func reasons() []string {
	return []string{
		push.ReasonTooLarge, push.ReasonNotUTF8, push.ReasonNotJSON, push.ReasonNotObject, push.ReasonTooDeep,
		push.ReasonMissingField, push.ReasonWrongType, push.ReasonWrongValue, push.ReasonBadText,
		push.ReasonBadCloudEvent, push.ReasonUnknownBizType, reasonNull, reasonBusy,
	}
}

// at goes down the names of a JSON value.
func at(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func (g *Gateway) servesSpec(w http.ResponseWriter, _ *http.Request) { serve(w, typeJSON, g.spec) }

// serve answers with what was made at the start.
func serve(w http.ResponseWriter, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(body)
}

package push

import (
	"encoding/base64"
	"strings"
)

// envelope is what a CloudEvent says beside the event: traced, never part of the identity.
type envelope struct {
	id          string // stands for an absent event_id
	traceParent string // valid, or empty
}

// envelope reads the headers of a CloudEvent in binary mode (Kafka protocol binding: ce_...), and traceparent, which
// any record may carry.
func (r Record) envelope() envelope {
	id, _ := r.Header("ce_id")
	if trace, ok := r.Header(HeaderTraceParent); ok {
		return envelope{id: id, traceParent: traceParent(trace)}
	}
	trace, _ := r.Header("ce_" + HeaderTraceParent)
	return envelope{id: id, traceParent: traceParent(trace)}
}

// isStructured reports whether the value is a CloudEvent in structured mode: the content type says so, or the value
// looks like one and is no event itself.
func (r Record) isStructured(o object) bool {
	contentType, _ := r.Header(HeaderContentType)
	mediaType, _, _ := strings.Cut(contentType, ";")
	if strings.EqualFold(strings.TrimSpace(mediaType), "application/cloudevents+json") {
		return true
	}
	return o.get("biz_type") == "" && o.get("specversion") != "" && (o.get("data") != "" || o.get("data_base64") != "")
}

// openStructured takes the event and its envelope out of a CloudEvent (JSON event format 1.x). What the headers
// said of the trace goes first.
func openStructured(o object, headers envelope) (object, envelope, error) {
	if version, _ := unquote(o.get("specversion")); !strings.HasPrefix(version, "1.") {
		return nil, envelope{}, badCloudEvent("specversion", "a CloudEvent of version 1.x is wanted")
	}
	env := headers
	if id, ok := unquote(clean(o.get("id"))); ok {
		env.id = id
	}
	if trace, ok := unquote(o.get(HeaderTraceParent)); ok && env.traceParent == "" {
		env.traceParent = traceParent(trace)
	}
	event, err := openData(o)
	return event, env, err
}

func openData(o object) (object, error) {
	data, encoded := o.get("data"), o.get("data_base64")
	switch {
	case isNull(data) == isNull(encoded):
		return nil, badCloudEvent("data", "the event is wanted as data, or as data_base64, and once")
	case isNull(encoded):
		return readObject(data, "data")
	}
	text, ok := unquote(encoded)
	if !ok {
		return nil, badCloudEvent("data_base64", "a string is wanted")
	}
	event, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, badCloudEvent("data_base64", "standard base64 is wanted")
	}
	return openText(event)
}

func badCloudEvent(field, detail string) error {
	return &PoisonError{ReasonBadCloudEvent, field, detail}
}

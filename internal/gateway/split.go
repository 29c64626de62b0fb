package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"strconv"
)

// The content types that are understood; none at all means JSON.
const (
	typeJSON       = "application/json"
	typeLines      = "application/x-ndjson"
	typeCloud      = "application/cloudevents+json"
	typeCloudBatch = "application/cloudevents-batch+json"
	byteOrderMark  = "\uFEFF"
	jsonSpace      = " \t\r\n"
)

// contentType reads the header; false for what is not understood.
func contentType(header string) (string, bool) {
	if header == "" {
		return typeJSON, true
	}
	name, _, err := mime.ParseMediaType(header)
	switch name {
	case typeJSON, typeLines, typeCloud, typeCloudBatch:
		return name, err == nil
	case "application/ndjson", "application/jsonl", "application/jsonlines":
		return typeLines, err == nil
	}
	return "", false
}

// split cuts a body into the text of its events: one, an array of them, or one a line. The text of each is the
// producer's own, byte for byte.
func split(body []byte, mediaType string) ([][]byte, error) {
	body = bytes.Trim(bytes.TrimPrefix(body, []byte(byteOrderMark)), jsonSpace)
	switch {
	case mediaType == typeLines:
		return lines(body), nil
	case len(body) == 0:
		return nil, nil
	case body[0] != '[':
		return [][]byte{body}, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(body, &items); err != nil {
		detail := "no JSON array of events"
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			detail = "no JSON from byte " + strconv.FormatInt(syntax.Offset, 10) + " on"
		}
		return nil, &failure{code: codeBadRequest, detail: detail}
	}
	texts := make([][]byte, len(items))
	for i, item := range items {
		texts[i] = item
	}
	return texts, nil
}

// lines are those that are not blank.
func lines(body []byte) [][]byte {
	var texts [][]byte
	for line := range bytes.Lines(body) {
		if line = bytes.Trim(line, jsonSpace); len(line) > 0 {
			texts = append(texts, line)
		}
	}
	return texts
}

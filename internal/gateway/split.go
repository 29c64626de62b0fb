package gateway

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
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
// producer's own, byte for byte. It stops behind the first one over most: a body of small bits would be many.
func split(body []byte, mediaType string, most int) ([][]byte, error) {
	body = bytes.Trim(bytes.TrimPrefix(body, []byte(byteOrderMark)), jsonSpace)
	switch {
	case mediaType == typeLines:
		return lines(body, most), nil
	case len(body) == 0:
		return nil, nil
	case body[0] != '[':
		return [][]byte{body}, nil
	}
	texts, err := items(body, most)
	if err != nil {
		at := int64(len(body))
		if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			at = syntax.ByteOffset
		}
		return nil, &failure{code: codeBadRequest, detail: "no JSON array of events from byte " + strconv.FormatInt(at, 10) + " on"}
	}
	return texts, nil
}

// errBehind says that the array is not all there is.
var errBehind = errors.New("something follows the array")

// items are the values of a JSON array, as written. What is wrong within one is for the event's own decoder to say.
func items(body []byte, most int) (texts [][]byte, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, err = d.ReadToken()
	for err == nil && d.PeekKind() != ']' {
		var value jsontext.Value
		if value, err = d.ReadValue(); err != nil {
			break
		}
		end := d.InputOffset()
		if texts = append(texts, body[end-int64(len(value)):end:end]); len(texts) > most {
			return texts, nil
		}
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if err == nil {
		if _, err = d.ReadToken(); err == nil {
			return nil, &jsontext.SyntacticError{ByteOffset: d.InputOffset() - 1, Err: errBehind}
		}
	}
	if errors.Is(err, io.EOF) {
		return texts, nil
	}
	return nil, err
}

// lines are those that are not blank.
func lines(body []byte, most int) [][]byte {
	var texts [][]byte
	for line := range bytes.Lines(body) {
		if line = bytes.Trim(line, jsonSpace); len(line) > 0 {
			texts = append(texts, line)
		}
		if len(texts) > most {
			break
		}
	}
	return texts
}

package push

import _ "embed"

//go:embed schema/event.schema.json
var eventSchema []byte

// Schema is the JSON Schema (draft 2020-12) of an event, for producers. Decode accepts nothing that it refuses; what
// it accepts beyond Decode is listed in its $comment.
func Schema() []byte { return eventSchema }

package push

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

// traceParentForm is version 00 of W3C Trace Context, and what later versions promise to keep of it.
var traceParentForm = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// traceParent returns s when it is a valid traceparent, else "": a broken trace stops no message.
func traceParent(s string) string {
	if s == "" {
		return ""
	}
	const none = "00000000000000000000000000000000"
	part := traceParentForm.FindStringSubmatch(s)
	switch {
	case len(part) == 0, part[1] == "ff", part[1] == "00" && part[4] != "":
		return ""
	case part[2] == none, part[3] == none[:16]:
		return ""
	}
	return s
}

// TraceID is the trace that the event belongs to: 32 hex digits, or empty.
func (e *Event) TraceID() string {
	if e.TraceParent == "" {
		return ""
	}
	return strings.Split(e.TraceParent, "-")[1]
}

// TraceParent continues the poke's trace. The row keeps no span, so one that is stable for the attempt stands for
// the parent; a retry is worth recording, hence the sampled flag.
func (p Poke) TraceParent() string {
	sum := sha256.Sum256([]byte(p.Reference(p.Round) + "#" + strconv.Itoa(p.Attempt)))
	return traceParent("00-" + p.TraceID + "-" + hex.EncodeToString(sum[:8]) + "-01")
}

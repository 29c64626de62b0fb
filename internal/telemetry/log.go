package telemetry

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// The stable names of log fields. A line about a delivery has the first block; nobody may give one of these names
// another meaning, and no field ever holds a whole phone, openid, user id or secret.
const (
	FieldBizType   = "biz_type"
	FieldBizID     = "biz_id"
	FieldAction    = "action"
	FieldRound     = "round"
	FieldAttempt   = "attempt"
	FieldProvider  = "provider"
	FieldNext      = "next_provider" // the one that follows on a refusal
	FieldStatus    = "status"        // what the row said
	FieldClass     = "class"         // what the provider's answer meant
	FieldCode      = "code"          // the provider's, or ours in snake_case
	FieldScope     = "scope"         // whom a stop concerns
	FieldWords     = "words"         // the provider's own, free of personal data
	FieldKeyState  = "key_state"
	FieldBy        = "by"    // what stopped a duplicate: redis, row
	FieldDoing     = "doing" // what was being done when a dependency failed
	FieldTopic     = "topic"
	FieldPartition = "partition"
	FieldOffset    = "offset"
	FieldTraceID   = "trace_id"
	FieldKind      = "kind"       // of a consumer event
	FieldSuppress  = "suppressed" // like events not told since the last one
	FieldReceipts  = "receipts"   // how many a line is about
	FieldVariable  = "variable"   // an environment variable
	FieldAddr      = "addr"       // of a service
	FieldVersion   = "version"    // of this program
	FieldWithin    = "within"     // the time that something may take, such as 25s
	FieldLasted    = "lasted"     // how long something went on, such as 45.3s
	FieldAgainIn   = "again_in"   // the wait before the next try, such as 1.5s
)

// timeFormat has milliseconds, which zerolog's own default lacks; it is read by whatever reads RFC 3339.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// NewLog writes JSON lines to w, or pretty ones where w is a terminal. level is one of log.level's values.
func NewLog(w io.Writer, level string) (zerolog.Logger, error) {
	parsed, err := zerolog.ParseLevel(level)
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("reading log.level: %w", err)
	}
	if Terminal(w) {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000"}
	}
	stamp := zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		e.Str(zerolog.TimestampFieldName, time.Now().UTC().Format(timeFormat))
	})
	return zerolog.New(w).Level(parsed).Hook(stamp), nil
}

// Terminal reports whether a person reads w as it is written.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

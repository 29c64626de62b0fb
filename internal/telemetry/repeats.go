package telemetry

import (
	"math"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// repeatEvery is the period in which only so many lines of one kind are written; the rest is counted.
const repeatEvery = 5 * time.Second

// most is how many that are: a dependency that is away makes every delivery say the same, a decision is about one delivery.
// Whoever asks for debug wants all.
func most(level zerolog.Level) int {
	switch {
	case level >= zerolog.ErrorLevel:
		return 20
	case level == zerolog.WarnLevel:
		return 3
	case level == zerolog.InfoLevel:
		return 500
	}
	return math.MaxInt
}

// repeats is a hook that keeps back a line said over and over.
type repeats struct {
	now func() time.Time

	mu    sync.Mutex
	kinds map[string]*kind // guarded by mu; by message
}

// kind is the lines of one message.
type kind struct {
	since time.Time // of the period
	said  int       // in it
	kept  int       // back, since the last line that was written
}

// Repeats is the log without floods: of each message a bounded number of lines every five seconds. The next one then tells
// how many were kept back, as "suppressed". It is for messages that are constants.
func Repeats(log zerolog.Logger) zerolog.Logger {
	return log.Hook(&repeats{now: time.Now, kinds: map[string]*kind{}})
}

// Run lets a line through, or drops it.
func (r *repeats) Run(e *zerolog.Event, level zerolog.Level, message string) {
	if !e.Enabled() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[level.String()+message]
	if k == nil {
		k = &kind{}
		r.kinds[level.String()+message] = k
	}
	now := r.now()
	if now.Sub(k.since) >= repeatEvery {
		k.since, k.said = now, 0
	}
	if k.said >= most(level) {
		k.kept++
		e.Discard()
		return
	}
	k.said++
	if k.kept > 0 {
		e.Int(FieldSuppress, k.kept)
		k.kept = 0
	}
}

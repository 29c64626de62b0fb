package telemetry

import (
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// The lines of one kind that are written in a period; the rest is counted.
const (
	repeatBurst = 3
	repeatEvery = 5 * time.Second
)

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

// Repeats is the log without floods: of each message and level a few lines every five seconds. The next one then tells
// how many were kept back, as "suppressed". Messages are constants, so their number is bounded.
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
	if k.said >= repeatBurst {
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

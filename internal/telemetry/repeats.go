package telemetry

import (
	"maps"
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

// kindsMost bounds the kinds that are remembered: codes are the providers' own words.
const kindsMost = 1000

// alike is what a line may carry as its context to tell of which kind it is: with it lines of the same message that are
// about different things, such as the refusals of two providers, do not keep each other back.
type alike interface{ Alike() string }

// repeats is a hook that keeps back a line said over and over.
type repeats struct {
	now func() time.Time

	mu    sync.Mutex
	kinds map[string]*kind // guarded by mu; by level, message and what tells its kinds apart
}

// kind is the lines of one kind.
type kind struct {
	since time.Time // of the period
	said  int       // in it
	kept  int       // back, since the last line that was written
}

// Repeats is the log without floods: of each kind of line a bounded number every five seconds. The next one then tells
// how many were kept back, as "suppressed". The kind is the message, which must be a constant, and where the line has a
// context with a method Alike() string, what that says: a few words of a small set.
func Repeats(log zerolog.Logger) zerolog.Logger {
	return log.Hook(&repeats{now: time.Now, kinds: map[string]*kind{}})
}

// Run lets a line through, or drops it.
func (r *repeats) Run(e *zerolog.Event, level zerolog.Level, message string) {
	if !e.Enabled() {
		return
	}
	name := level.String() + message
	if a, told := e.GetCtx().(alike); told {
		name += "\x00" + a.Alike()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	k := r.kinds[name]
	if k == nil {
		r.forget(now)
		k = &kind{}
		r.kinds[name] = k
	}
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

// forget makes room for another kind. What was kept back of one that was silent for a period is not told any more.
func (r *repeats) forget(now time.Time) {
	if len(r.kinds) < kindsMost {
		return
	}
	maps.DeleteFunc(r.kinds, func(_ string, k *kind) bool { return now.Sub(k.since) >= repeatEvery })
	if len(r.kinds) >= kindsMost { // a flood of kinds: its counts are given up for a bounded memory
		clear(r.kinds)
	}
}

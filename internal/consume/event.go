package consume

import (
	"fmt"
	"sync"
	"time"
)

// Kind is what an Event is about.
type Kind string

// The kinds of events.
const (
	KindJoined     Kind = "joined"      // a generation began
	KindLeft       Kind = "left"        // a generation ended; Err says why
	KindTopics     Kind = "topics"      // topics or partitions appeared or vanished
	KindGroup      Kind = "group"       // joining the group fails
	KindFetch      Kind = "fetch"       // fetching from a partition fails
	KindLost       Kind = "lost"        // a partition is shorter than what was committed of it
	KindCommit     Kind = "commit"      // a commit failed; the next one covers it
	KindPoison     Kind = "poison"      // a record goes to the dead-letter topic; Err says why
	KindDeadLetter Kind = "dead_letter" // a dead letter cannot be written; it is tried again
	KindHandler    Kind = "handler"     // Handle refused a record; it is handed again
	KindPanic      Kind = "panic"       // Handle panicked; Err has the stack
	KindUndrained  Kind = "undrained"   // records were still out when the drain ended; they come again
)

// Event is something that an operator may want to read. It holds nothing of a record but where it stood.
type Event struct {
	Kind       Kind
	Topic      string // empty: about no topic
	Partition  int
	Offset     int64
	Detail     string // what it is about, where the fields do not say it
	Err        error  // nil: nothing is wrong
	Suppressed int    // events of this kind and topic that were not told since the last one
}

// String says the event in one line.
func (e Event) String() string {
	s := string(e.Kind)
	if e.Topic != "" {
		s += fmt.Sprintf(" %s/%d@%d", e.Topic, e.Partition, e.Offset)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Suppressed > 0 {
		s += fmt.Sprintf(" (and %d more)", e.Suppressed)
	}
	return s
}

// quiet is the least time between two events of one kind and topic: a dead broker or a flood of poison fills no log.
const quiet = 5 * time.Second

// teller tells events, and keeps the flood back.
type teller struct {
	tell func(Event)
	now  func() time.Time

	mu   sync.Mutex
	last map[told]*silence // guarded by mu
}

type told struct {
	kind  Kind
	topic string
}

type silence struct {
	since time.Time
	kept  int
}

func newTeller(tell func(Event), now func() time.Time) *teller {
	return &teller{tell: tell, now: now, last: make(map[told]*silence)}
}

// event tells e unless one of its kind and topic was told a moment ago.
func (t *teller) event(e Event) {
	if t.admit(&e) {
		t.tell(e)
	}
}

func (t *teller) admit(e *Event) bool {
	key, now := told{e.Kind, e.Topic}, t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	s, known := t.last[key]
	if !known {
		s = &silence{}
		t.last[key] = s
	}
	if known && now.Sub(s.since) < quiet {
		s.kept++
		return false
	}
	e.Suppressed, s.kept, s.since = s.kept, 0, now
	return true
}

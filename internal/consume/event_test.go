package consume

import (
	"errors"
	"testing"
	"time"
)

func TestAFloodOfOneKindIsToldOnceAndCounted(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var told []Event
	tl := newTeller(func(e Event) { told = append(told, e) }, func() time.Time { return now })
	for range 100 {
		tl.event(Event{Kind: KindFetch, Topic: "a"})
	}
	tl.event(Event{Kind: KindFetch, Topic: "b"})
	tl.event(Event{Kind: KindCommit, Topic: "a"})
	now = now.Add(quiet)
	tl.event(Event{Kind: KindFetch, Topic: "a"})
	tl.event(Event{Kind: KindFetch, Topic: "a"})
	if len(told) != 4 {
		t.Fatalf("%d events told, want 4: %v", len(told), told)
	}
	if got := told[3].Suppressed; got != 99 {
		t.Errorf("%d suppressed, want 99", got)
	}
}

func TestAnEventIsOneLine(t *testing.T) {
	t.Parallel()
	e := Event{Kind: KindFetch, Topic: "t", Partition: 2, Offset: 7, Err: errors.New("reset"), Suppressed: 3}
	if got, want := e.String(), "fetch t/2@7: reset (and 3 more)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (Event{Kind: KindJoined, Detail: "generation 1"}).String(), "joined: generation 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

package deliver

import (
	"context"
	"errors"
	"testing"
)

func TestFlightsOneAKeyAtATime(t *testing.T) {
	t.Parallel()
	f := newFlights()
	if err := f.enter(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := f.enter(t.Context(), "b"); err != nil {
		t.Fatalf("another key waits: %v", err)
	}
	second := make(chan error)
	go func() { second <- f.enter(t.Context(), "a") }()
	select {
	case <-second:
		t.Fatal("the second flight entered beside the first")
	default:
	}
	f.leave("a")
	if err := <-second; err != nil {
		t.Errorf("the second flight was not woken: %v", err)
	}
}

func TestFlightsWaitEndsWithItsRecord(t *testing.T) {
	t.Parallel()
	f := newFlights()
	_ = f.enter(t.Context(), "a")
	ended := errors.New("generation ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	if err := f.enter(ctx, "a"); !errors.Is(err, ended) {
		t.Errorf("enter = %v, want the generation's end", err)
	}
}

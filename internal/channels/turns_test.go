package channels

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurnsAreTakenOneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns, began := NewTurns(20), time.Now()
		var all sync.WaitGroup
		for range 41 {
			all.Go(func() {
				if err := turns.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("41 turns of 20 a second took %v", took)
		}
		time.Sleep(time.Minute) // what nobody used is not saved up
		began = time.Now()
		for range 3 {
			_ = turns.Wait(t.Context())
		}
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("three turns after a pause took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if turns.Wait(ctx) == nil {
			t.Error("a turn without time for it came")
		}
	})
}

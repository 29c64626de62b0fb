package consume_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pusher/internal/consume"
	"pusher/internal/push"
)

func TestBothTopicsAreReadFromTheFirstOffset(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 3)
			k.put(t, event(k.main, 0, "a"), event(k.main, 2, "b"), event(k.retry, 1, "c"))
			h := &taker{}
			m := start(t, k.quick(), h)
			eventually(t, "all three are handed out", func() bool { return h.has("a", "b", "c") })
			eventually(t, "all three are committed", func() bool {
				return k.committed(k.main, 0) == 1 && k.committed(k.main, 2) == 1 && k.committed(k.retry, 1) == 1
			})
			if err := m.Ready(); err != nil {
				t.Errorf("not ready: %v", err)
			}
			if got := k.committed(k.main, 1); got != -1 {
				t.Errorf("a partition without records has the commit %d", got)
			}
		})
	}
}

// holder is a handler that keeps every record out until the test says so.
type holder struct {
	taker

	mu    sync.Mutex
	dones map[string]func(error) // guarded by mu
}

func newHolder() *holder {
	h := &holder{dones: map[string]func(error){}}
	h.answer = func(_ context.Context, r push.Record, done func(error)) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.dones[string(r.Value)] = done
		return nil
	}
	return h
}

func (h *holder) finish(value string, err error) {
	h.mu.Lock()
	done := h.dones[value]
	h.mu.Unlock()
	done(err)
}

func TestInvariantGDoneOutOfOrderCommitsThePrefixOnly(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, events(k.main, 0, "e", 5)...)
			h := newHolder()
			start(t, k.quick(), h)
			eventually(t, "all are out", func() bool { return h.has("e-0", "e-1", "e-2", "e-3", "e-4") })
			at := func() int64 { return k.committed(k.main, 0) }
			h.finish("e-0", nil)
			h.finish("e-2", nil)
			h.finish("e-4", nil)
			eventually(t, "the prefix is committed", func() bool { return at() == 1 })
			h.finish("e-1", nil)
			eventually(t, "the longer prefix is committed", func() bool { return at() == 3 })
			h.finish("e-3", nil)
			eventually(t, "all is committed", func() bool { return at() == 5 })
		})
	}
}

func TestARestartResumesFromTheCommit(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, events(k.main, 0, "e", 3)...)
			first := &taker{}
			m := start(t, k.quick(), first)
			eventually(t, "all are handed out", func() bool { return first.has("e-0", "e-1", "e-2") })
			m.stop()
			if got := k.committed(k.main, 0); got != 3 {
				t.Fatalf("committed %d at the end, want 3", got)
			}
			k.put(t, event(k.main, 0, "later"))
			second := &taker{}
			start(t, k.quick(), second)
			eventually(t, "the next one is handed out", func() bool { return second.has("later") })
			if got := second.values(); len(got) != 1 {
				t.Errorf("after the restart came %v, want later alone", got)
			}
		})
	}
}

func TestWhatIsOutAtTheEndIsWaitedForAndCommitted(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, event(k.main, 0, "slow"))
			var ended atomic.Bool
			h := &taker{answer: func(ctx context.Context, _ push.Record, done func(error)) error {
				context.AfterFunc(ctx, func() {
					ended.Store(true)
					time.AfterFunc(300*time.Millisecond, func() { done(nil) })
				})
				return nil
			}}
			m := start(t, k.quick(), h)
			eventually(t, "it is out", func() bool { return h.has("slow") })
			m.stop()
			if !ended.Load() {
				t.Error("the context of Handle did not end")
			}
			if got := k.committed(k.main, 0); got != 1 {
				t.Errorf("committed %d, want 1", got)
			}
		})
	}
}

func TestWhatIsNotDoneByTheEndComesAgainAndALateDoneChangesNothing(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, event(k.main, 0, "stuck"), event(k.main, 0, "quick"))
			stuck := newHolder()
			cfg := k.quick()
			cfg.Grace = time.Second
			m := start(t, cfg, stuck)
			eventually(t, "both are out", func() bool { return stuck.has("stuck", "quick") })
			stuck.finish("quick", nil)
			if took := m.stop(); took > 2*cfg.Grace {
				t.Errorf("Run took %v to end, want about %v", took, cfg.Grace)
			}
			stuck.finish("stuck", nil)
			if got := k.committed(k.main, 0); got > 0 {
				t.Fatalf("committed %d past an undone record", got)
			}
			again := &taker{}
			start(t, k.quick(), again)
			eventually(t, "both come again", func() bool { return again.has("stuck", "quick") })
		})
	}
}

func TestTwoMembersShareAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 4)
			one, two := &taker{}, &taker{}
			a := start(t, k.quick(), one)
			var want []string
			feed := func(round int) {
				for p := range 4 {
					name := fmt.Sprintf("r%d-p%d", round, p)
					for _, e := range events(k.main, p, name, 20) {
						want = append(want, string(e.Value))
					}
					k.put(t, events(k.main, p, name, 20)...)
				}
			}
			feed(0)
			b := start(t, k.quick(), two)
			feed(1)
			shared := func() bool { return mine(a.Stats()) > 0 && mine(b.Stats()) > 0 && mine(a.Stats())+mine(b.Stats()) == 8 }
			eventually(t, "both have partitions", shared)
			feed(2)
			both := func() bool {
				for _, w := range want {
					if one.count(w)+two.count(w) == 0 {
						return false
					}
				}
				return true
			}
			eventually(t, "each event came to one of them", both)
			a.stop()
			feed(3)
			eventually(t, "the one that is left gets the rest", both)
			b.stop()
			for p := range 4 {
				if got := k.committed(k.main, p); got != 80 {
					t.Errorf("partition %d: committed %d, want 80", p, got)
				}
			}
		})
	}
}

// mine counts a member's partitions.
func mine(s consume.Stats) int { return len(s.Partitions) }

func TestASpareMemberIsReady(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			a, b := start(t, k.quick(), &taker{}), start(t, k.quick(), &taker{})
			eventually(t, "one has all and the other is a spare", func() bool {
				return a.Stats().Joined && b.Stats().Joined && mine(a.Stats())+mine(b.Stats()) == 2 &&
					(mine(a.Stats()) == 0 || mine(b.Stats()) == 0)
			})
			for _, m := range []*member{a, b} {
				eventually(t, "a member is ready", func() bool { return m.Ready() == nil })
			}
		})
	}
}

func TestAnErrorOfTheHandlerHandsTheRecordAgainWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, events(k.main, 0, "e", 3)...)
			var mended atomic.Bool
			h := &taker{answer: func(_ context.Context, r push.Record, done func(error)) error {
				if string(r.Value) == "e-0" && !mended.Load() {
					return errors.New("postgres is away")
				}
				done(nil)
				return nil
			}}
			start(t, k.quick(), h)
			eventually(t, "the others went on and the first was tried again", func() bool { return h.has("e-1", "e-2") && h.count("e-0") > 2 })
			if got := k.committed(k.main, 0); got > 0 {
				t.Fatalf("committed %d past a record that nobody took", got)
			}
			mended.Store(true)
			eventually(t, "all is committed", func() bool { return k.committed(k.main, 0) == 3 })
			if h.count("e-1") != 1 || h.count("e-2") != 1 {
				t.Errorf("the others came again: %v", h.values())
			}
		})
	}
}

func TestAHandlerWithoutRoomIsNotOverrunAndEndsWithTheGeneration(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, events(k.main, 0, "e", 50)...)
			h := &taker{answer: func(ctx context.Context, _ push.Record, _ func(error)) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			m := start(t, k.quick(), h)
			eventually(t, "the first is out", func() bool { return h.has("e-0") })
			within(t, 5*time.Second, "the rest is known to be there", func() bool { return len(m.Stats().Partitions) == 2 && lag(m.Stats()) == 50 })
			if took := m.stop(); took > 3*time.Second {
				t.Errorf("Run took %v to end: it waited for a record that was given back", took)
			}
			if got := h.values(); len(got) != 1 {
				t.Errorf("the handler got %d records, has room for one", len(got))
			}
		})
	}
}

// lag sums up over a member's partitions.
func lag(s consume.Stats) int64 {
	var n int64
	for _, p := range s.Partitions {
		n += p.Lag()
	}
	return n
}

func TestATopicThatIsDeletedDoesNotStopTheOther(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			h := &taker{}
			m := start(t, k.quick(), h)
			eventually(t, "both topics are ours", func() bool { return mine(m.Stats()) == 2 })
			k.remove(t, k.retry)
			eventually(t, "readiness names it", func() bool {
				err := m.Ready()
				return err != nil && strings.Contains(err.Error(), k.retry+" has no partition") && mine(m.Stats()) == 1
			})
			k.put(t, event(k.main, 0, "a"))
			eventually(t, "the other is read", func() bool { return h.has("a") })
		})
	}
}

func TestStartLastReadsTopicsThatAppearLaterFromTheirFirstRecord(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 0)
			k.make(k.main, 1)
			k.put(t, event(k.main, 0, "old"))
			cfg := k.quick()
			cfg.Start = consume.StartLast
			var missing atomic.Bool
			cfg.OnEvent = func(e consume.Event) {
				if errors.Is(e.Err, consume.ErrNoTopic) && strings.Contains(e.String(), k.retry) && !strings.Contains(e.String(), k.main+",") {
					missing.Store(true)
				}
			}
			h := &taker{}
			start(t, cfg, h)
			eventually(t, "the topic that is missing is named", missing.Load)
			eventually(t, "the end is committed", func() bool { return k.committed(k.main, 0) == 1 })
			k.make(k.retry, 1)
			k.put(t, event(k.retry, 0, "new"))
			eventually(t, "the new topic is read", func() bool { return h.has("new") })
			if h.has("old") {
				t.Error("start: last read what was there before")
			}
		})
	}
}

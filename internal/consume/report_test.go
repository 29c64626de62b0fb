package consume_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pusher/internal/consume"
	"pusher/internal/push"
)

func TestFieldReport01_NothingIsCommittedBeyondAnEventThatFailsAndItIsHandedAgainWithoutARestart(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, event(k.main, 0, "A"), event(k.main, 0, "B"), event(k.main, 0, "C"))
			var away atomic.Bool
			away.Store(true)
			h := &taker{answer: func(_ context.Context, r push.Record, done func(error)) error {
				if string(r.Value) == "A" && away.Load() {
					return fmt.Errorf("storing: connection refused")
				}
				done(nil)
				return nil
			}}
			start(t, k.quick(), h)
			eventually(t, "B and C are through and A is tried again", func() bool { return h.has("B", "C") && h.count("A") > 1 })
			if got := k.committed(k.main, 0); got > 0 {
				t.Fatalf("committed %d while A failed", got)
			}
			away.Store(false)
			eventually(t, "all is committed", func() bool { return k.committed(k.main, 0) == 3 })
		})
	}
}

func TestFieldReport01_AnEventThatWasOnlyFetchedComesAfterARestart(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			k.put(t, event(k.main, 0, "A"))
			cfg := k.quick()
			cfg.Grace = 500 * time.Millisecond
			fetched := newHolder()
			m := start(t, cfg, fetched)
			eventually(t, "A is fetched", func() bool { return fetched.has("A") })
			m.stop()
			h := &taker{}
			start(t, k.quick(), h)
			eventually(t, "A comes again", func() bool { return h.has("A") })
		})
	}
}

func TestFieldReport02_EventsFromBeforeTheFirstStartAndFromBetweenTwoAreRead(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 3)
			k.put(t, event(k.main, 0, "p0"), event(k.main, 1, "p1"))
			h := &taker{}
			m := start(t, k.quick(), h)
			eventually(t, "p0 and p1 are read", func() bool { return h.has("p0", "p1") })
			m.stop()
			k.put(t, event(k.main, 2, "p2"))
			start(t, k.quick(), h)
			eventually(t, "p2 is read", func() bool { return h.has("p2") })
		})
	}
}

func TestFieldReport02_StartLastFixesTheEndOnceSoThatNothingBetweenTwoStartsIsLost(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 2)
			k.put(t, event(k.main, 0, "old"))
			cfg := k.quick()
			cfg.Start = consume.StartLast
			h := &taker{}
			m := start(t, cfg, h)
			eventually(t, "the ends are committed", func() bool { return k.committed(k.main, 0) == 1 && k.committed(k.main, 1) == 0 })
			m.stop()
			k.put(t, event(k.main, 0, "new"), event(k.main, 1, "new too"))
			start(t, cfg, h)
			eventually(t, "what came in between is read", func() bool { return h.has("new", "new too") })
			if h.has("old") {
				t.Error("start: last read what was there before")
			}
		})
	}
}

func TestFieldReport03_TopicsThatAppearAndGrowAreReadWithoutARestart(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 0)
			h := &taker{}
			m := start(t, k.quick(), h)
			eventually(t, "readiness names what is missing", func() bool {
				err := m.Ready()
				return err != nil && strings.Contains(err.Error(), k.main+" has no partition") && strings.Contains(err.Error(), "not a member")
			})
			k.make(k.main, 3)
			feed := func(topic, prefix string, from, to int) (want []string) {
				for p := from; p < to; p++ {
					name := fmt.Sprintf("%s-p%d", prefix, p)
					k.put(t, event(topic, p, name))
					want = append(want, name)
				}
				return want
			}
			want := feed(k.main, "main", 0, 3)
			eventually(t, "the first topic is read while the other is absent", func() bool { return h.has(want...) })
			if err := m.Ready(); err == nil || !strings.Contains(err.Error(), k.retry) {
				t.Errorf("ready without the retry topic: %v", err)
			}
			k.make(k.retry, 2)
			want = append(want, feed(k.retry, "retry", 0, 2)...)
			eventually(t, "the second topic is read", func() bool { return h.has(want...) })
			k.grow(k.main, 6)
			eventually(t, "the new partitions are ours", func() bool { return len(m.Stats().Partitions) == 8 })
			want = append(want, feed(k.main, "grown", 0, 6)...)
			eventually(t, "all partitions are read", func() bool { return h.has(want...) })
			eventually(t, "it is ready", func() bool { return m.Ready() == nil })
		})
	}
}

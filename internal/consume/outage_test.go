package consume_test

import (
	"sync/atomic"
	"testing"
	"time"

	"pusher/internal/consume"
	"pusher/internal/testbed"
)

func TestFieldReport04_ABrokerThatRestartsIsReadAgainAndMeanwhileReadinessSaysSo(t *testing.T) {
	t.Parallel()
	own := testbed.OwnKafka(t)
	k := named(t, []string{own.Addr}, func(topic string, n int) { testbed.MakeTopic(t, own.Addr, topic, n) }).with(2)
	k.put(t, events(k.main, 0, "before", 20)...)
	h := &taker{}
	var lines atomic.Int64
	cfg := k.quick()
	cfg.OnEvent = func(e consume.Event) { lines.Add(1); t.Log(e) }
	m := start(t, cfg, h)
	eventually(t, "the first are read", func() bool { return h.has("before-19") })
	own.Stop()
	down := time.Now()
	before := lines.Load()
	eventually(t, "readiness says that nothing is fetched", func() bool { return m.Ready() != nil })
	pauseUntil(down.Add(8 * time.Second))
	if got := lines.Load() - before; got > 40 {
		t.Errorf("%d events in 8 s without a broker", got)
	}
	own.Start()
	k.put(t, events(k.main, 1, "after", 20)...)
	within(t, time.Minute, "what came after is read", func() bool { return h.has("after-19") })
	eventually(t, "it is committed", func() bool { return k.committed(k.main, 0) == 20 && k.committed(k.main, 1) == 20 })
	eventually(t, "it is ready", func() bool { return m.Ready() == nil })
}

// pauseUntil lets a fault last.
func pauseUntil(at time.Time) { time.Sleep(time.Until(at)) }

func TestFieldReport04_ACoordinatorThatIsCutOffIsFoundAgain(t *testing.T) {
	t.Parallel()
	k, hole := holed(t)
	h := &taker{}
	m := start(t, k.quick(), h)
	k.put(t, event(k.main, 0, "a"))
	eventually(t, "a is read", func() bool { return h.has("a") })
	hole.dig()
	eventually(t, "readiness says so", func() bool { return m.Ready() != nil })
	hole.fill()
	k.put(t, event(k.main, 0, "b"))
	within(t, time.Minute, "b is read", func() bool { return h.has("b") })
	eventually(t, "it is ready", func() bool { return m.Ready() == nil })
}

func TestFieldReport05a_StoppingAnIdleConsumerIsQuickAndQuiet(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 3)
			var lines atomic.Int64
			cfg := k.quick()
			cfg.OnEvent = func(consume.Event) { lines.Add(1) }
			m := start(t, cfg, &taker{})
			eventually(t, "it is ready", func() bool { return m.Ready() == nil })
			before := lines.Load()
			if took := m.stop(); took > 3*time.Second {
				t.Errorf("stopping took %v", took)
			}
			if got := lines.Load() - before; got > 5 {
				t.Errorf("stopping told %d events", got)
			}
		})
	}
}

func TestFieldReport05b_StoppingEndsWithinTheGraceWhenKafkaIsABlackHole(t *testing.T) {
	t.Parallel()
	k, hole := holed(t)
	cfg := k.quick()
	cfg.Grace = 3 * time.Second
	h := newHolder()
	m := start(t, cfg, h)
	k.put(t, event(k.main, 0, "a"))
	eventually(t, "a is out", func() bool { return h.has("a") })
	hole.dig()
	if took := m.stop(); took > cfg.Grace+time.Second {
		t.Errorf("stopping took %v, grace is %v", took, cfg.Grace)
	}
}

func TestFieldReport05b_StoppingEndsWithinTheGraceWhenKafkaWasNeverThere(t *testing.T) {
	t.Parallel()
	k, hole := holed(t)
	hole.dig()
	cfg := k.quick()
	cfg.Grace = time.Second
	m := start(t, cfg, &taker{})
	eventually(t, "it is not ready", func() bool { return m.Ready() != nil })
	if took := m.stop(); took > cfg.Grace+time.Second {
		t.Errorf("stopping took %v, grace is %v", took, cfg.Grace)
	}
}

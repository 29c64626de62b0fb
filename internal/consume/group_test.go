package consume_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"pusher/internal/push"
)

func TestBothTopicsAreReadFromTheFirstOffset(t *testing.T) {
	t.Parallel()
	brokers := fake(t, 3, mainTopic, retryTopic).ListenAddrs()
	put(t, brokers, event(mainTopic, 0, "a"), event(mainTopic, 2, "b"), event(retryTopic, 1, "c"))
	h := &taker{}
	m := start(t, quick(brokers), h)
	eventually(t, "all three are handed out", func() bool { return h.has("a", "b", "c") })
	eventually(t, "all three are committed", func() bool {
		return committed(t, brokers, "pusher", mainTopic, 0) == 1 && committed(t, brokers, "pusher", mainTopic, 2) == 1 &&
			committed(t, brokers, "pusher", retryTopic, 1) == 1
	})
	if err := m.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if got := committed(t, brokers, "pusher", mainTopic, 1); got != -1 {
		t.Errorf("a partition without records has the commit %d", got)
	}
}

func TestInvariantGDoneOutOfOrderCommitsThePrefixOnly(t *testing.T) {
	t.Parallel()
	brokers := fake(t, 1, mainTopic, retryTopic).ListenAddrs()
	put(t, brokers, events(mainTopic, 0, "e", 5)...)
	var mu sync.Mutex
	dones := map[string]func(error){}
	h := &taker{answer: func(_ context.Context, r push.Record, done func(error)) error {
		mu.Lock()
		defer mu.Unlock()
		dones[string(r.Value)] = done
		return nil
	}}
	start(t, quick(brokers), h)
	eventually(t, "all are out", func() bool { mu.Lock(); defer mu.Unlock(); return len(dones) == 5 })
	finish := func(i int) { mu.Lock(); defer mu.Unlock(); dones[fmt.Sprintf("e-%d", i)](nil) }
	at := func() int64 { return committed(t, brokers, "pusher", mainTopic, 0) }
	finish(0)
	finish(2)
	finish(4)
	eventually(t, "the prefix is committed", func() bool { return at() == 1 })
	finish(1)
	eventually(t, "the longer prefix is committed", func() bool { return at() == 3 })
	finish(3)
	eventually(t, "all is committed", func() bool { return at() == 5 })
}

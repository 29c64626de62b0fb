package consume_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/consume"
	"pusher/internal/push"
	"pusher/internal/testbed"
)

// poison is what the handler of these tests says of values that begin with "bad"; "null" is a tombstone.
func poison(_ context.Context, r push.Record, done func(error)) error {
	switch {
	case len(r.Value) == 0:
		return push.ErrTombstone
	case bytes.HasPrefix(r.Value, []byte("bad")):
		return &push.PoisonError{Reason: push.ReasonNotJSON, Detail: "no JSON"}
	case bytes.HasPrefix(r.Value, []byte("late")):
		go done(&push.PoisonError{Reason: "refused", Detail: "refused for its own data"})
	case bytes.HasPrefix(r.Value, []byte("panic")):
		panic("rendering: " + string(r.Value))
	default:
		go done(nil)
	}
	return nil
}

func headers(m kafka.Message) map[string]string {
	all := map[string]string{}
	for _, h := range m.Headers {
		all[h.Key] = string(h.Value)
	}
	return all
}

func TestFieldReport01_NothingIsCommittedBeyondAnEventThatFailsAndItIsHandedAgainWithoutARestart(t *testing.T) {
	t.Parallel()
	onEach(t, 1, func(t *testing.T, k cluster) {
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

func TestFieldReport01_AnEventThatWasOnlyFetchedComesAfterARestart(t *testing.T) {
	t.Parallel()
	onEach(t, 1, func(t *testing.T, k cluster) {
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

func TestFieldReport02_EventsFromBeforeTheFirstStartAndFromBetweenTwoAreRead(t *testing.T) {
	t.Parallel()
	onEach(t, 3, func(t *testing.T, k cluster) {
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

func TestFieldReport02_StartLastFixesTheEndOnceSoThatNothingBetweenTwoStartsIsLost(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, k cluster) {
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

func TestFieldReport03_TopicsThatAppearAndGrowAreReadWithoutARestart(t *testing.T) {
	t.Parallel()
	onEach(t, 0, func(t *testing.T, k cluster) {
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

func TestFieldReport04_ABrokerThatRestartsIsReadAgainAndMeanwhileReadinessSaysSo(t *testing.T) {
	t.Parallel()
	own := testbed.OwnKafka(t)
	k := named(t, []string{own.Addr}, func(topic string, n int) { testbed.MakeTopic(t, own.Addr, topic, n) })
	k.make(k.main, 2)
	k.make(k.retry, 2)
	k.make(k.dead, 1)
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
	onEach(t, 3, func(t *testing.T, k cluster) {
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

func TestFieldReport07_PoisonReachesTheDeadLetterTopicByteForByteAndStaysDoneOverRestarts(t *testing.T) {
	t.Parallel()
	onEach(t, 1, func(t *testing.T, k cluster) {
		bad := kafka.Message{
			Topic: k.main, WriterData: 0, Key: []byte("key\xff"), Value: []byte("bad \x00\xff\xef\xbb\xbf{"),
			Headers: []kafka.Header{{Key: "traceparent", Value: []byte("00-1-2-03")}, {Key: "push-reason", Value: []byte("forged")}},
			Time:    time.UnixMilli(1790000000123),
		}
		k.put(t, event(k.main, 0, "good"), event(k.main, 0, "late"), event(k.main, 0, "panic"), event(k.main, 0, ""), event(k.main, 0, "good too"), bad)
		for range 4 {
			h := &taker{answer: poison}
			m := start(t, k.quick(), h)
			eventually(t, "all is committed", func() bool { return k.committed(k.main, 0) == 6 })
			m.stop()
			if n := m.Stats().Tombstones; n > 1 {
				t.Errorf("%d tombstones counted", n)
			}
		}
		letters := map[string]kafka.Message{}
		for _, m := range k.readAll(t, k.dead, 3) {
			letters[string(m.Value)] = m
		}
		for value, reason := range map[string]string{"late": "refused", "panic": "panic", string(bad.Value): push.ReasonNotJSON} {
			if got := headers(letters[value])[push.HeaderReason]; got != reason {
				t.Errorf("dead letter %q has the reason %q, want %q", value, got, reason)
			}
		}
		got := letters[string(bad.Value)]
		if !bytes.Equal(got.Key, bad.Key) {
			t.Errorf("key %q, want %q", got.Key, bad.Key)
		}
		want := map[string]string{
			push.HeaderTopic: k.main, push.HeaderPartition: "0", push.HeaderOffset: "5",
			push.HeaderTime: "2026-09-21T14:13:20.123Z", "traceparent": "00-1-2-03", push.HeaderReason: push.ReasonNotJSON,
		}
		for name, value := range want {
			if headers(got)[name] != value {
				t.Errorf("header %s is %q, want %q", name, headers(got)[name], value)
			}
		}
		if end := k.end(t, k.dead); end != 3 {
			t.Errorf("%d dead letters, want one for each of 3", end)
		}
	})
}

func TestFieldReport07_WithoutADeadLetterTopicTheOffsetStaysAndTheLetterIsWrittenLater(t *testing.T) {
	t.Parallel()
	onEach(t, 1, func(t *testing.T, k cluster) {
		cfg := k.quick()
		cfg.DeadLetterTopic += "-later"
		k.put(t, event(k.main, 0, "bad"), event(k.main, 0, "good"))
		h := &taker{answer: poison}
		m := start(t, cfg, h)
		eventually(t, "the good one is handed out and the letter fails", func() bool { return h.has("good") && m.Stats().LettersFailed > 1 })
		if got := k.committed(k.main, 0); got > 0 {
			t.Fatalf("committed %d without a dead letter", got)
		}
		k.make(cfg.DeadLetterTopic, 1)
		eventually(t, "the letter is written and all committed", func() bool { return k.committed(k.main, 0) == 2 })
		if got := k.readAll(t, cfg.DeadLetterTopic, 1); string(got[0].Value) != "bad" {
			t.Errorf("dead letter %q", got[0].Value)
		}
	})
}

func TestFieldReport07_ALetterTooLargeForItsTopicIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	k := realKafka(t)
	k.make(k.main, 1)
	k.make(k.retry, 1)
	k.make(k.dead, 1)
	configure(t, k.brokers, k.dead, "max.message.bytes", "100000")
	value := append([]byte("bad"), bytes.Repeat([]byte("x"), 200_000)...)
	hopeless := kafka.Message{Topic: k.main, WriterData: 0, Key: []byte("k"), Value: []byte("bad key"), Headers: []kafka.Header{{Key: "h", Value: value}}}
	k.put(t, kafka.Message{Topic: k.main, WriterData: 0, Value: value}, hopeless)
	start(t, k.quick(), &taker{answer: poison})
	eventually(t, "all is committed", func() bool { return k.committed(k.main, 0) == 2 })
	for _, got := range k.readAll(t, k.dead, 2) {
		whole := value
		if headers(got)[push.HeaderOffset] == "1" {
			whole = hopeless.Value
		}
		sum := sha256.Sum256(whole)
		if h := headers(got); h[push.HeaderTruncated] != strconv.Itoa(len(whole)) || h[push.HeaderSHA256] != hex.EncodeToString(sum[:]) {
			t.Errorf("offset %s: truncated %q, sha256 %q", h[push.HeaderOffset], h[push.HeaderTruncated], h[push.HeaderSHA256])
		}
		if !bytes.HasPrefix(whole, got.Value) {
			t.Errorf("the cut value %q… is no prefix of the whole", got.Value[:10])
		}
	}
}

func TestFieldReport08_ABacklogIsHeldInBoundedMemory(t *testing.T) {
	t.Parallel()
	k := realKafka(t)
	k.make(k.main, 12)
	k.make(k.retry, 1)
	k.make(k.dead, 1)
	pad := strings.Repeat("x", 150_000)
	for p := range 12 {
		var some []kafka.Message
		for i := range 20 { // 36 MB in all
			some = append(some, event(k.main, p, fmt.Sprintf("%d-%d-%s", p, i, pad)))
		}
		k.put(t, some...)
	}
	var out, most atomic.Int64
	room := make(chan struct{}, 8)
	h := handlerFunc(func(ctx context.Context, _ push.Record, done func(error)) error {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		most.Store(max(most.Load(), out.Add(1)))
		time.AfterFunc(20*time.Millisecond, func() { out.Add(-1); <-room; done(nil) })
		return nil
	})
	before := runtime.NumGoroutine()
	m := start(t, k.quick(), h)
	grown := 0
	within(t, 2*time.Minute, "the backlog is gone", func() bool {
		grown = max(grown, runtime.NumGoroutine()-before)
		s := m.Stats()
		return s.Records == 240 && lag(s) == 0
	})
	if most.Load() > 8 {
		t.Errorf("%d records out at once, room for 8", most.Load())
	}
	if perPartition := grown / 13; perPartition > 20 {
		t.Logf("goroutines grew by %d, other tests' included", grown)
	}
}

// handlerFunc is a Handler that keeps nothing.
type handlerFunc func(ctx context.Context, r push.Record, done func(error)) error

func (f handlerFunc) Handle(ctx context.Context, r push.Record, done func(error)) error {
	return f(ctx, r, done)
}

func TestFieldReport08_AnEventLargerThanAFetchIsRead(t *testing.T) {
	t.Parallel()
	k := realKafka(t)
	k.make(k.main, 1)
	k.make(k.retry, 1)
	k.make(k.dead, 1)
	configure(t, k.brokers, k.main, "max.message.bytes", "8000000")
	large := strings.Repeat("x", 3<<20)
	k.put(t, event(k.main, 0, "small"))
	k.put(t, event(k.main, 0, large))
	k.put(t, event(k.main, 0, "after"))
	h := &taker{}
	start(t, k.quick(), h)
	eventually(t, "all three are read", func() bool { return h.has("small", large, "after") })
}

func TestFieldReport09_EveryCodecIsRead(t *testing.T) {
	t.Parallel()
	onEach(t, 1, func(t *testing.T, k cluster) {
		codecs := map[string]kafka.Compression{
			"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
		}
		var want []string
		for name, codec := range codecs {
			all := events(k.main, 0, name, 5)
			write(t, &kafka.Writer{Addr: kafka.TCP(k.brokers...), Compression: codec}, all...)
			for _, m := range all {
				want = append(want, string(m.Value))
			}
		}
		h := &taker{}
		start(t, k.quick(), h)
		eventually(t, "all are read", func() bool { return h.has(want...) })
		eventually(t, "all are committed", func() bool { return k.committed(k.main, 0) == int64(len(want)) })
	})
}

// end is one past the last record of partition 0.
func (k cluster) end(t *testing.T, topic string) int64 {
	t.Helper()
	conn, err := kafka.DialLeader(t.Context(), "tcp", k.brokers[0], topic, 0)
	if err != nil {
		t.Fatalf("dialing: %v", err)
	}
	defer func() { _ = conn.Close() }()
	last, err := conn.ReadLastOffset()
	if err != nil {
		t.Fatalf("reading the end of %s: %v", topic, err)
	}
	return last
}

// configure sets a topic's setting.
func configure(t *testing.T, brokers []string, topic, name, value string) {
	t.Helper()
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	client := &kafka.Client{Addr: kafka.TCP(brokers...), Transport: transport, Timeout: 10 * time.Second}
	res, err := client.IncrementalAlterConfigs(t.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet}},
		}},
	})
	if err != nil || res.Resources[0].Error != nil {
		t.Fatalf("configuring %s: %v %v", topic, err, res)
	}
}

// hole is a way to Kafka that can swallow everything, as a network does that drops packets.
type hole struct {
	mu  sync.Mutex
	dug chan struct{} // guarded by mu; closed while bytes pass
}

// holed is a Kafka behind a hole: its broker is known by the hole's address.
func holed(t *testing.T) (cluster, *hole) {
	t.Helper()
	h := &hole{dug: make(chan struct{})}
	close(h.dug)
	k := fakeThrough(t, h.listen)
	for _, topic := range []string{k.main, k.retry, k.dead} {
		k.make(topic, 1)
	}
	t.Cleanup(h.fill)
	return k, h
}

func (h *hole) dig() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dug = make(chan struct{})
}

func (h *hole) fill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.dug:
	default:
		close(h.dug)
	}
}

// pass waits while bytes are swallowed.
func (h *hole) pass() {
	h.mu.Lock()
	dug := h.dug
	h.mu.Unlock()
	<-dug
}

// listen is kfake's listener with the hole in each connection.
func (h *hole) listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	return holedListener{Listener: l, hole: h}, err
}

type holedListener struct {
	net.Listener

	hole *hole
}

func (l holedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return holedConn{Conn: c, hole: l.hole}, err
}

type holedConn struct {
	net.Conn

	hole *hole
}

func (c holedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.hole.pass()
	return n, err
}

func (c holedConn) Write(b []byte) (int, error) {
	c.hole.pass()
	return c.Conn.Write(b)
}

package consume_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
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

func TestFieldReport07_PoisonReachesTheDeadLetterTopicByteForByteAndStaysDoneOverRestarts(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
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
}

func TestFieldReport07_WithoutADeadLetterTopicTheOffsetStaysAndTheLetterIsWrittenLater(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
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
}

func TestFieldReport07_ALetterTooLargeForItsTopicIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	k := realKafka(t).with(1)
	configure(t, k.brokers, k.dead, "max.message.bytes", "100000")
	value := append([]byte("bad"), noise(200_000)...)
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

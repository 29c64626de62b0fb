package e2e

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
)

// poison is 25 ways not to be an event, and the reason that each gets.
func poison() []struct{ value, reason string } {
	with := func(fields string) string {
		return `{"biz_type":"resume_viewed","biz_id":1,"recipient":{"user_id":"u1"}` + fields + `}`
	}
	return []struct{ value, reason string }{
		{`{"biz_type":"resume_viewed"`, push.ReasonNotJSON},
		{`hello`, push.ReasonNotJSON},
		{`   `, push.ReasonNotJSON},
		{`{} {}`, push.ReasonNotJSON},
		{`null`, push.ReasonNotObject},
		{`[]`, push.ReasonNotObject},
		{`"text"`, push.ReasonNotObject},
		{`42`, push.ReasonNotObject},
		{`{}`, push.ReasonMissingField},
		{`{"biz_type":"resume_viewed"}`, push.ReasonMissingField},
		{`{"biz_id":1}`, push.ReasonMissingField},
		{`{"biz_type":"resume_viewed","BIZ_ID":1}`, push.ReasonMissingField},
		{`{"biz_type":"resume_viewed","biz_id":""}`, push.ReasonWrongValue},
		{`{"biz_type":"resume_viewed","biz_id":"` + strings.Repeat("x", 257) + `"}`, push.ReasonWrongValue},
		{`{"biz_type":"resume_viewed","biz_id":1e3}`, push.ReasonWrongValue},
		{`{"biz_type":"resume_viewed","biz_id":12.0}`, push.ReasonWrongValue},
		{`{"biz_type":"resume_viewed","biz_id":true}`, push.ReasonWrongType},
		{"{\"biz_type\":\"resume_viewed\",\"biz_id\":\"a\xff\"}", push.ReasonNotUTF8},
		{`{"biz_type":"resume_viewed","biz_id":"a\u0000"}`, push.ReasonBadText},
		{`{"biz_type":"never_configured","biz_id":1}`, push.ReasonUnknownBizType},
		{`{"biz_type":"no spaces","biz_id":1}`, push.ReasonWrongValue},
		{with(`,"actions":[]`), push.ReasonWrongValue},
		{with(`,"params":{"company":null}`), push.ReasonWrongType},
		{with(`,"expires_at":"tomorrow"`), push.ReasonWrongValue},
		{with(`,"x":"` + strings.Repeat("x", 1<<20) + `"`), push.ReasonTooLarge},
	}
}

// TestPoisonBetweenGoodEvents: every good event is delivered, every poison is on the dead-letter topic byte for byte,
// with its reason and where it stood.
func TestPoisonBetweenGoodEvents(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.run()
	want := map[string]string{}
	for i, p := range poison() {
		s.write(event(1000+i, ""))
		s.writePacked(p.value)
		want[p.value] = p.reason
	}
	s.settled(3*len(poison()), push.Sent)
	s.eventually("lag 0", func() bool { return s.lag() == 0 })
	for _, letter := range s.deadLetters(len(poison())) {
		reason, known := want[string(letter.Value)]
		short := letter.Value[:min(len(letter.Value), 60)]
		if !known {
			t.Errorf("a dead letter that nobody wrote: %q", short)
			continue
		}
		delete(want, string(letter.Value))
		if got := header(letter, push.HeaderReason); got != reason {
			t.Errorf("%q has reason %q, want %q", short, got, reason)
		}
		if header(letter, push.HeaderTopic) != s.cfg.Kafka.Topic || header(letter, push.HeaderPartition) != "0" || header(letter, push.HeaderOffset) == "" {
			t.Errorf("%q does not say where it stood: %v", short, letter.Headers)
		}
	}
	for value := range want {
		t.Errorf("no dead letter of %q", value[:min(len(value), 60)])
	}
}

// writePacked writes a value compressed: so Kafka takes one that is over 1 MiB when it is read.
func (s *system) writePacked(value string) {
	s.t.Helper()
	s.writeBy(kafka.Gzip, value)
}

// writeBy writes a value compressed by this codec.
func (s *system) writeBy(codec kafka.Compression, value string) {
	s.t.Helper()
	transport := &kafka.Transport{} // of its own: the shared one may not have heard of a topic this young
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{
		Addr: kafka.TCP(s.cfg.Kafka.Brokers...), Topic: s.cfg.Kafka.Topic, Compression: codec, Transport: transport,
		RequiredAcks: kafka.RequireAll, BatchSize: 1, BatchBytes: 8 << 20,
	}
	defer func() { _ = w.Close() }()
	if err := w.WriteMessages(s.t.Context(), kafka.Message{Value: []byte(value)}); err != nil {
		s.t.Fatal(err)
	}
}

func header(m kafka.Message, name string) string {
	for _, h := range m.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// TestFieldReport06_TombstonesAndMissingIdentity: no record without identity is ever sent, none stops its neighbours,
// and a redelivered one is still not sent.
func TestFieldReport06_TombstonesAndMissingIdentity(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.run()
	odd := []string{"", "   ", "null", "[]", "{}", `{"biz_type":"resume_viewed"}`, `{"biz_type":"resume_viewed","biz_id":""}`}
	for range 2 {
		for i, v := range odd {
			s.write(v, event(i, `"actions":["notify"],"later":"unknown fields are ignored",`))
		}
	}
	s.write(event(100, `"actions":null,`), event(101, `"actions":["notify","carrier-pigeon"],`))
	s.eventually("all delivered", func() bool {
		got := s.statuses()
		return got["notify sent"] == len(odd)+2 && got["sms sent"] == 1 && got["wechat sent"] == 1 && got["carrier-pigeon skipped"] == 1
	})
	s.eventually("lag 0", func() bool { return s.lag() == 0 })
	// Two rounds of all but the tombstones, which are skipped and counted.
	letters := s.deadLetters(2 * (len(odd) - 1))
	for _, l := range letters {
		if len(bytes.TrimSpace(l.Value)) == 0 && len(l.Value) == 0 {
			t.Error("a tombstone went to the dead-letter topic")
		}
	}
	if got := s.number(`SELECT count(*) FROM push_log`); got != len(odd)+2+1+1+1 {
		t.Errorf("%d rows, want %d: an identity was made up", got, len(odd)+5)
	}
}

// TestFieldReport09_OddEncodings: ids that differ in an invalid byte are both refused; a byte-order mark is no matter.
func TestFieldReport09_OddEncodings(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.run()
	s.write(
		"{\"biz_type\":\"resume_viewed\",\"biz_id\":\"x\xff\",\"recipient\":{\"user_id\":\"u1\"}}",
		"{\"biz_type\":\"resume_viewed\",\"biz_id\":\"x\xfe\",\"recipient\":{\"user_id\":\"u1\"}}",
		"\uFEFF"+event(1, `"actions":["notify"],`),
	)
	s.settled(1, push.Sent)
	for _, l := range s.deadLetters(2) {
		if got := header(l, push.HeaderReason); got != push.ReasonNotUTF8 {
			t.Errorf("reason %q, want %q", got, push.ReasonNotUTF8)
		}
	}
	for _, codec := range []kafka.Compression{kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		id := 200 + int(codec)
		s.writeBy(codec, event(id, `"actions":["notify"],`))
		s.eventually(fmt.Sprintf("the event in %v", codec), func() bool {
			return s.number(`SELECT count(*) FROM push_log WHERE biz_id = $1 AND status = 'sent'`, strconv.Itoa(id)) == 1
		})
	}
}

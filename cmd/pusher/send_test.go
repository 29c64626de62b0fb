package main

import (
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

const good = `{"biz_type":"resume_viewed","biz_id":10248,"recipient":{"user_id":"u1"},"params":{"company":"ACME"}}`

// values reads n records of the topic's two partitions, from the first.
func (s services) values(t *testing.T, n int) map[string]string {
	t.Helper()
	found, records := map[string]string{}, make(chan kafka.Message)
	for partition := range 2 {
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: strings.Split(s.brokers, ","), Topic: s.topic, Partition: partition, MaxWait: 100 * time.Millisecond,
		})
		t.Cleanup(func() { _ = reader.Close() })
		go func() { // ends when the reader is closed
			for {
				m, err := reader.ReadMessage(t.Context())
				if err != nil {
					return
				}
				records <- m
			}
		}()
	}
	for len(found) < n {
		select {
		case m := <-records:
			found[string(m.Key)] = string(m.Value)
		case <-time.After(20 * time.Second):
			t.Fatalf("%d of %d records came", len(found), n)
		}
	}
	return found
}

func TestSendWritesValidEventsWithTheirKey(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	input := good + "\n\n  " + strings.ReplaceAll(good, "10248", `"b-2"`) + "\r\n" + strings.ReplaceAll(good, "10248", "7")
	got := execute(t.Context(), input, "send", "--config", s.config(t))
	if got.code != 0 || got.stdout != "3 events written to "+s.topic+"\n" {
		t.Fatalf("got %+v", got)
	}
	written := s.values(t, 3)
	if written["10248"] != good || written["b-2"] == "" || written["7"] == "" {
		t.Errorf("got %v", written)
	}
}

func TestSendRefusesTheWholeInputForOneBadLine(t *testing.T) {
	t.Parallel()
	// Nobody listens there: the refusal comes before anything is written.
	config := services{
		brokers: "127.0.0.1:1", topic: "t", redis: "127.0.0.1:1", db: "0", postgres: "postgres://h/db",
	}.config(t)
	input := strings.Join([]string{
		good, `{"biz_type":"resume_viewed"}`, "not json", strings.ReplaceAll(good, "resume_viewed", "other"),
	}, "\n")
	got := execute(t.Context(), input, "send", "--config", config)
	lines := got.complaints()
	if got.code != 1 || got.stdout != "" || len(lines) != 4 {
		t.Fatalf("got %+v", got)
	}
	for i, want := range []string{"stdin:2: missing_field: biz_id", "stdin:3: not_json", "stdin:4: unknown_biz_type: biz_type", "bad events: 3 of 4; nothing is written"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
}

func TestSendDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	away := services{brokers: "127.0.0.1:1", topic: "t", redis: "127.0.0.1:1", db: "0", postgres: "postgres://h/db"}
	events := file(t, good+"\n")
	got := execute(t.Context(), "", "send", events, "--dry-run", "--config", away.config(t))
	if got.code != 0 || got.stdout != "valid events: 1; nothing is written\n" {
		t.Errorf("got %+v", got)
	}
}

// TestSendNotesActionsThatWillBeSkipped: a mistyped channel is no error of the contract, and yet hardly meant.
func TestSendNotesActionsThatWillBeSkipped(t *testing.T) {
	t.Parallel()
	away := services{brokers: "127.0.0.1:1", topic: "t", redis: "127.0.0.1:1", db: "0", postgres: "postgres://h/db"}
	input := good + "\n" + strings.Replace(good, "{", `{"actions":["notify","smss"],`, 1)
	got := execute(t.Context(), input, "send", "--dry-run", "--config", away.config(t))
	if got.code != 0 || got.stderr != "stdin:2: note: actions: the push has only [notify], so number 2 of these is skipped\n" {
		t.Errorf("got %+v", got)
	}
}

func TestSendNamesBrokersThatAreAway(t *testing.T) {
	t.Parallel()
	away := services{brokers: "127.0.0.1:1", topic: "t", redis: "127.0.0.1:1", db: "0", postgres: "postgres://h/db"}
	got := execute(t.Context(), good, "send", "--config", away.config(t))
	if got.code != 1 || !strings.Contains(got.stderr, "writing to t at 127.0.0.1:1") || len(got.complaints()) != 1 {
		t.Errorf("got %+v", got)
	}
}

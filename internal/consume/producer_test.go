package consume_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"pusher/internal/consume"
	"pusher/internal/push"
)

func records(topic string, values ...string) []push.Record {
	var all []push.Record
	for i, v := range values {
		all = append(all, push.Record{
			Origin: push.Origin{Topic: topic}, Key: fmt.Appendf(nil, "k%d", i), Value: []byte(v),
			Headers: []push.Header{{Key: push.HeaderAttempt, Value: []byte("2")}},
		})
	}
	return all
}

func TestPublishWritesKeyValueAndHeadersAndDoesNotWaitASecondForEach(t *testing.T) {
	t.Parallel()
	for name, begin := range kafkas() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := begin(t, 1)
			p := producer(t, consume.Cluster{Brokers: k.brokers})
			began := time.Now()
			for i := range 20 {
				if err := p.Publish(t.Context(), records(k.main, fmt.Sprintf("v%d", i))); err != nil {
					t.Fatalf("publishing: %v", err)
				}
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("20 records took %v", took)
			}
			for i, m := range k.readAll(t, k.main, 20) {
				if string(m.Key) != "k0" || string(m.Value) != fmt.Sprintf("v%d", i) || headers(m)[push.HeaderAttempt] != "2" {
					t.Errorf("record %d: %q %q %v", i, m.Key, m.Value, m.Headers)
				}
			}
		})
	}
}

func TestPublishWritesWhatTogetherIsTooLargeAloneAndNamesWhatIsTooLargeItself(t *testing.T) {
	t.Parallel()
	k := realKafka(t).with(1)
	configure(t, k.brokers, k.main, "max.message.bytes", "100000")
	p := producer(t, consume.Cluster{Brokers: k.brokers})
	pad := string(noise(60_000))
	if err := p.Publish(t.Context(), records(k.main, pad, pad, pad)); err != nil {
		t.Fatalf("three records that fit one by one: %v", err)
	}
	err := p.Publish(t.Context(), records(k.main, "small", pad+pad))
	if err == nil || !strings.Contains(err.Error(), "Message Size Too Large") {
		t.Errorf("a record over the topic's limit: %v", err)
	}
	if got := k.readAll(t, k.main, 4); string(got[3].Value) != "small" {
		t.Errorf("the record beside the refused one is %d bytes", len(got[3].Value))
	}
}

func TestPublishEndsWithItsContextAndCloseToo(t *testing.T) {
	t.Parallel()
	k, hole := holed(t)
	hole.dig()
	p, err := consume.NewProducer(consume.Cluster{Brokers: k.brokers})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := p.Publish(ctx, records(k.main, "v")); err == nil {
		t.Error("published into a black hole")
	}
	_ = p.Close(ctx)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("publishing and closing took %v", took)
	}
}

func TestLoginByEveryMechanism(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{consume.MechanismPlain, consume.MechanismScramSHA256, consume.MechanismScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			k := fakeThrough(t, net.Listen, kfake.EnableSASL(), kfake.Superuser(strings.ToUpper(mechanism), "pusher", "secret"),
				kfake.SeedTopics(1, "push-events", "push-events-dlq"))
			cfg := k.quick()
			cfg.Topics, cfg.DeadLetterTopic = []string{"push-events"}, "push-events-dlq"
			cfg.SASL = consume.SASL{Mechanism: mechanism, Username: "pusher", Password: "secret"}
			p := producer(t, cfg.Cluster)
			if err := p.Publish(t.Context(), records("push-events", "v")); err != nil {
				t.Fatalf("publishing: %v", err)
			}
			h := &taker{}
			start(t, cfg, h)
			eventually(t, "the record is read", func() bool { return h.has("v") })
		})
	}
}

func TestTLSIsSpokenWithABrokerThatIsTrusted(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(server.Close)
	k := fakeThrough(t, nil, kfake.TLS(server.TLS.Clone())).with(1)
	cfg := k.quick()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	cfg.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if err := producer(t, cfg.Cluster).Publish(t.Context(), records(k.main, "v")); err != nil {
		t.Fatalf("publishing: %v", err)
	}
	h := &taker{}
	start(t, cfg, h)
	eventually(t, "the record is read", func() bool { return h.has("v") })
}

func TestAWrongPasswordIsToldAndNeverShown(t *testing.T) {
	t.Parallel()
	k := fakeThrough(t, net.Listen, kfake.EnableSASL(), kfake.Superuser("PLAIN", "pusher", "secret"))
	cfg := k.quick()
	cfg.SASL = consume.SASL{Mechanism: consume.MechanismPlain, Username: "pusher", Password: "wr0ng"}
	told := make(chan consume.Event, 100)
	cfg.OnEvent = func(e consume.Event) {
		select {
		case told <- e:
		default:
		}
	}
	m := start(t, cfg, &taker{})
	e := <-told
	if e.Err == nil || strings.Contains(e.String(), "wr0ng") {
		t.Errorf("event %v", e)
	}
	if m.Ready() == nil {
		t.Error("ready without a login")
	}
}

// noise is n bytes that no codec makes smaller: records over a megabyte, and those refused together, are compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails
	return b
}

func TestPublishCompressesWhatIsLarge(t *testing.T) {
	t.Parallel()
	k := realKafka(t).with(1)
	p := producer(t, consume.Cluster{Brokers: k.brokers})
	if err := p.Publish(t.Context(), records(k.main, strings.Repeat("x", 3<<20))); err != nil {
		t.Fatalf("a record that is over the topic's limit but for its codec: %v", err)
	}
	if got := k.readAll(t, k.main, 1); len(got[0].Value) != 3<<20 {
		t.Errorf("%d bytes came back", len(got[0].Value))
	}
}

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"

	"pusher/internal/gateway"
	"pusher/internal/testbed"
)

// frontDoor is a gateway as a process, and a producer that it lets in.
type frontDoor struct {
	*installation
	*program

	addr, secret string
}

// openDoor starts a gateway with settings over the usual ones.
func openDoor(t *testing.T, settings map[string]string) *frontDoor {
	t.Helper()
	d := &frontDoor{addr: freePort(t)}
	var entry string
	d.secret, entry = gateway.NewCredential("orders")
	all := map[string]string{
		"PUSHER_GATEWAY_ADDR": d.addr, "PUSHER_GATEWAY_PRODUCERS": entry, "PUSHER_GATEWAY_LEASE": "1s",
		"PUSHER_GATEWAY_TOKEN_KEY": "0123456789abcdef0123456789abcdef",
	}
	maps.Copy(all, settings)
	d.installation = install(t, all)
	d.reopen()
	return d
}

// reopen starts it again, at the same address.
func (d *frontDoor) reopen() {
	d.installation.t.Helper()
	d.program = d.start("pusher", "", "gateway")
	d.says("the front door is open")
}

// asked is an answer of the front door's.
type asked struct {
	status   int
	code     string // of a problem
	accepted int
	after    string // Retry-After
	text     string
}

// ask posts a body to /v1/events with a key, or without one.
func (d *frontDoor) ask(client *http.Client, url, key, body string) (asked, error) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/v1/events", strings.NewReader(body))
	if err != nil {
		return asked{}, err
	}
	r.Header.Set("Authorization", "Bearer "+d.secret)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", strconv.Quote(key))
	}
	res, err := client.Do(r)
	if err != nil {
		return asked{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var said struct {
		Code     string
		Accepted int
	}
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	return asked{res.StatusCode, said.Code, said.Accepted, res.Header.Get("Retry-After"), string(text)}, err
}

// topicKeys counts the records of the producers' topic by their key; it has one partition.
func (s *system) topicKeys() map[string]int {
	s.t.Helper()
	end := s.ends(s.cfg.Kafka.Topic)[0]
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: s.cfg.Kafka.Brokers, Topic: s.cfg.Kafka.Topic, MaxBytes: 4 << 20, MaxWait: 100 * time.Millisecond})
	defer func() { _ = reader.Close() }()
	ctx, cancel := context.WithTimeout(s.t.Context(), soon)
	defer cancel()
	keys := map[string]int{}
	for range end {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			s.t.Fatalf("after %d of %d records: %v", len(keys), end, err)
		}
		keys[string(m.Key)]++
	}
	return keys
}

// TestAGatewayEndsUnderLoad: SIGTERM while 50 clients post. Whatever was answered 202 is on the topic, no key is left in
// progress or in doubt, and the program ends with 0 within its grace. Who was cut off asks the next gateway: every event
// is there once.
func TestAGatewayEndsUnderLoad(t *testing.T) {
	t.Parallel()
	const clients, grace = 50, 10 * time.Second
	d := openDoor(t, map[string]string{"PUSHER_GATEWAY_GRACE": grace.String(), "PUSHER_GATEWAY_LEASE": "10s"})
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client, url := &http.Client{Transport: transport}, "http://"+d.addr
	var answered, next atomic.Int64
	var accepted, cut sync.Map
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for {
				id := int(next.Add(1))
				got, err := d.ask(client, url, fmt.Sprint("key-", id), event(id, ""))
				if err != nil { // the door is shut
					cut.Store(id, true)
					return
				}
				if got.status != http.StatusAccepted {
					t.Errorf("event %d: %s", id, got.text)
					return
				}
				accepted.Store(id, true)
				answered.Add(1)
			}
		})
	}
	d.eventually("under load", func() bool { return answered.Load() >= 4*clients })
	began := time.Now()
	d.Signal(syscall.SIGTERM)
	if code, took := d.code(), time.Since(began); code != 0 || took > grace {
		t.Errorf("ended with %d after %v, want 0 within %v", code, took, grace)
	}
	all.Wait()
	keys := d.topicKeys()
	accepted.Range(func(id, _ any) bool {
		if keys[strconv.Itoa(id.(int))] != 1 {
			t.Errorf("event %v was answered 202, and is there %d times", id, keys[strconv.Itoa(id.(int))])
		}
		return true
	})
	d.noKeyOpen(t)
	d.reopen()
	cut.Range(func(id, _ any) bool {
		if got, err := d.ask(client, url, fmt.Sprint("key-", id), event(id.(int), "")); err != nil || got.accepted != 1 {
			t.Errorf("event %v, which was cut off: %+v %v", id, got, err)
		}
		return true
	})
	keys = d.topicKeys()
	for id := range next.Load() {
		if n := keys[strconv.FormatInt(id+1, 10)]; n != 1 {
			t.Errorf("event %d is there %d times", id+1, n)
		}
	}
}

// noKeyOpen checks that no guarded call is in progress or in doubt.
func (d *frontDoor) noKeyOpen(t *testing.T) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: d.cfg.Redis.Addrs[0], DB: d.cfg.Redis.DB})
	defer func() { _ = client.Close() }()
	names, err := client.Keys(t.Context(), "push:guard:*").Result()
	if err != nil || len(names) == 0 {
		t.Fatalf("%d keys, %v", len(names), err)
	}
	for _, name := range names {
		if value := client.Get(t.Context(), name).Val(); !strings.HasPrefix(value, "1 ") {
			t.Errorf("%s says %q", name, value)
		}
	}
}

// certificate writes a certificate for 127.0.0.1 and its key as an operator has them, and answers who trusts it.
func certificate(t *testing.T) (cert, key string, trusting *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(nil) // for its certificate
	defer server.Close()
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusting = x509.NewCertPool()
	trusting.AddCert(server.Certificate())
	return cert, key, trusting
}

// TestTheDoorSpeaksTLS: to who trusts its certificate, by HTTP/2 too; not to who does not, nor in the clear, nor in an old
// version. `pusher send --via` trusts what its system does.
func TestTheDoorSpeaksTLS(t *testing.T) {
	t.Parallel()
	cert, key, trusting := certificate(t)
	d := openDoor(t, map[string]string{"PUSHER_GATEWAY_TLS_CERT_FILE": cert, "PUSHER_GATEWAY_TLS_KEY_FILE": key})
	url := "https://" + d.addr
	for i, tt := range []struct {
		name  string
		tls   *tls.Config
		two   bool
		fails string
	}{
		{"trusting", &tls.Config{RootCAs: trusting, MinVersion: tls.VersionTLS12}, false, ""},
		{"trusting, by HTTP/2", &tls.Config{RootCAs: trusting, MinVersion: tls.VersionTLS12}, true, ""},
		{"not trusting", &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}, false, "unknown authority"},
		{"by another name", &tls.Config{RootCAs: trusting, ServerName: "elsewhere.test", MinVersion: tls.VersionTLS12}, false, "elsewhere.test"},
		{"of old", &tls.Config{RootCAs: trusting, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false, "protocol version"},
	} {
		transport := &http.Transport{TLSClientConfig: tt.tls, ForceAttemptHTTP2: tt.two}
		got, err := d.ask(&http.Client{Transport: transport}, url, "", event(i, ""))
		transport.CloseIdleConnections()
		if tt.fails == "" && (err != nil || got.status != http.StatusAccepted) || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
			t.Errorf("%s: %+v %v", tt.name, got, err)
		}
	}
	plain := new(http.Transport)
	defer plain.CloseIdleConnections()
	res, err := (&http.Client{Transport: plain}).Get("http://" + d.addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("in the clear: %d", res.StatusCode)
	}
	d.env["SSL_CERT_FILE"], d.env["GATEWAY_CREDENTIAL"] = cert, d.secret
	file := filepath.Join(d.dir, "events.jsonl")
	if err := os.WriteFile(file, []byte(event(10, "")+"\n"+event(11, "")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := d.start("pusher", "", "send", "--via", url, file); p.code() != 0 || !strings.Contains(p.output(), "2 events accepted by "+url) {
		t.Errorf("send --via ended with %d: %s", p.code(), p.output())
	}
	if keys := d.topicKeys(); len(keys) != 4 {
		t.Errorf("on the topic: %v", keys)
	}
	d.Signal(syscall.SIGTERM)
	if code := d.code(); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

// readiness is what /readyz says: its status, and that of each service.
func (d *frontDoor) readiness(client *http.Client) string {
	res, err := client.Get("http://" + d.addr + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	var said struct {
		Checks map[string]struct{ Status string }
	}
	_ = json.NewDecoder(res.Body).Decode(&said)
	return fmt.Sprintf("%d kafka %s, redis %s", res.StatusCode, said.Checks["kafka"].Status, said.Checks["redis"].Status)
}

// TestTheDoorTellsWhichServiceIsAway: on /readyz and in its answers, while Redis and then Kafka is away, and that it is
// back, without a restart. What was asked for meanwhile is there once it is answered.
func TestTheDoorTellsWhichServiceIsAway(t *testing.T) {
	t.Parallel()
	ownRedis, ownKafka := testbed.OwnRedis(t), testbed.OwnKafka(t)
	topics := map[string]string{}
	for _, name := range []string{"TOPIC", "RETRY_TOPIC", "DEAD_LETTER_TOPIC"} {
		topics[name] = testbed.Unique(t)
		testbed.MakeTopic(t, ownKafka.Addr, topics[name], 1)
	}
	d := openDoor(t, map[string]string{
		"PUSHER_REDIS_ADDRS": ownRedis.Addr, "PUSHER_REDIS_DB": "0", "PUSHER_KAFKA_BROKERS": ownKafka.Addr, "PUSHER_KAFKA_TOPIC": topics["TOPIC"],
		"PUSHER_KAFKA_RETRY_TOPIC": topics["RETRY_TOPIC"], "PUSHER_KAFKA_DEAD_LETTER_TOPIC": topics["DEAD_LETTER_TOPIC"],
		"PUSHER_GATEWAY_TIMEOUT": "3s",
	})
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	client, url := &http.Client{Transport: transport}, "http://"+d.addr
	const well = "200 kafka ok, redis ok"
	says := func(want string) {
		d.eventually(want, func() bool { return d.readiness(client) == want })
	}
	says(well)
	for id, away := range []struct {
		own   *testbed.Own
		says  string
		codes string
	}{
		{ownRedis, "503 kafka ok, redis unavailable", "redis_away"},
		{ownKafka, "503 kafka unavailable, redis ok", "kafka_away outcome_unknown"},
	} {
		key := fmt.Sprint("key-", id)
		if got, err := d.ask(client, url, "before-"+key, event(10+id, "")); err != nil || got.accepted != 1 {
			t.Fatalf("before: %+v %v", got, err)
		}
		away.own.Stop()
		says(away.says)
		got, err := d.ask(client, url, key, event(id, ""))
		if err != nil || got.status != http.StatusServiceUnavailable || !strings.Contains(away.codes, got.code) || got.after == "" {
			t.Errorf("%s: %+v %v", away.says, got, err)
		}
		away.own.Start()
		says(well)
		d.eventually("accepted", func() bool {
			got, err := d.ask(client, url, key, event(id, ""))
			return err == nil && got.accepted == 1
		})
	}
	keys := d.topicKeys()
	if keys["10"] != 1 || keys["0"] != 1 || keys["11"] != 1 || keys["1"] == 0 {
		t.Errorf("on the topic: %v", keys)
	}
}

// TestTheDoorsBounds: the limits of the configuration, at the door itself: how much, how many, how fast, how slow.
func TestTheDoorsBounds(t *testing.T) {
	t.Parallel()
	d := openDoor(t, map[string]string{
		"PUSHER_GATEWAY_MAX_BODY": strconv.Itoa(1 << 20), "PUSHER_GATEWAY_MAX_BATCH": "3", "PUSHER_GATEWAY_RATE": "0.5",
	})
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	client, url := &http.Client{Transport: transport}, "http://"+d.addr
	slow, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	silent, err := net.Dial("tcp", d.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	_, _ = fmt.Fprintf(slow, "POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", d.secret)
	_, _ = io.WriteString(silent, "POST /v1/events HTTP/1.1\r\nHost: x\r\n")
	three := "[" + event(1, "") + "," + event(2, "") + "," + event(3, "") + "]"
	for _, tt := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"too much", event(1, "") + strings.Repeat(" ", 1<<20), 413, "too_large"},
		{"too many", "[" + event(0, "") + "," + three[1:], 413, "too_large"},
		{"as many as may be", three, 202, ""},
		{"too fast", "[" + event(4, "") + "," + event(5, "") + "," + event(6, "") + "]", 429, "rate_limited"},
	} {
		got, err := d.ask(client, url, tt.name[:6], tt.body)
		if err != nil || got.status != tt.status || got.code != tt.code || (got.after != "") != (tt.status == 429) {
			t.Errorf("%s: %+v %v", tt.name, got, err)
		}
	}
	for name, conn := range map[string]net.Conn{"408 Request Timeout": slow, "": silent} {
		_ = conn.SetReadDeadline(began.Add(soon))
		said, err := io.ReadAll(conn)
		if took := time.Since(began); err != nil || !strings.Contains(string(said), name) || took > 20*time.Second {
			t.Errorf("a slow one is told %q after %v, %v", said, took, err)
		}
	}
	if keys := d.topicKeys(); len(keys) != 3 {
		t.Errorf("on the topic: %v", keys)
	}
}

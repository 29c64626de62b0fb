package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"pusher/internal/cli"
	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// ended is what a program left behind.
type ended struct {
	code           int
	stdout, stderr string
}

// execute runs the very program with a world of its own.
func execute(ctx context.Context, args ...string) ended {
	var out, errs bytes.Buffer
	nothing := func(string) (string, bool) { return "", false }
	err := run(ctx, args, nothing, strings.NewReader(""), &out, &errs)
	cli.Report(&errs, "compensator", err)
	return ended{cli.ExitCode(err), out.String(), errs.String()}
}

// services are a test's own corner of what a pass needs.
type services struct{ broker, retry, letters, postgres string }

func onServices(t *testing.T) services {
	t.Helper()
	return services{testbed.Kafka(t)[0], testbed.Topic(t, 1), testbed.Topic(t, 1), testbed.Postgres(t)}
}

// config writes the configuration of these services.
func (s services) config(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pusher.yaml")
	text := fmt.Sprintf("kafka: {brokers: [%q], retry_topic: %q, dead_letter_topic: %q}\npostgres: {url: %q}\n",
		s.broker, s.retry, s.letters, s.postgres)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// due puts a failed delivery that is due at once into the push log and returns a look at its status.
func (s services) due(t *testing.T) (status func() push.Status) {
	t.Helper()
	log, err := store.Open(t.Context(), store.Config{URL: s.postgres})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	id := push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10248", Action: push.SMS}
	owner := push.NewOwner()
	intended := log.Intend(t.Context(), []push.Intent{{
		Delivery: &push.Delivery{
			Identity: id, BizID: "10248", Event: &push.Event{BizType: "resume_viewed", BizID: "10248", Raw: []byte(`{"biz_type":"resume_viewed","biz_id":"10248"}`)},
			Origin: push.Origin{Topic: "t", Time: time.Now()}, Window: time.Hour,
		},
		Owner: owner, Lease: time.Minute, Provider: "aliyun", MaxAttempts: 8, RecipientFull: "+8613800138000",
	}})[0]
	if intended.Err != nil {
		t.Fatal(intended.Err)
	}
	failed := push.Result{ID: intended.Row.ID, Owner: owner, Attempt: 1, Class: push.NotSent, Provider: "aliyun", Code: "dial"}
	if answer := log.Record(t.Context(), []push.Result{failed})[0]; answer.Err != nil {
		t.Fatal(answer.Err)
	}
	return func() push.Status { return log.Look(t.Context(), []push.Lookup{{Identity: id}})[0].Row.Status }
}

func TestUsageAndConfigurationErrorsExit2(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"now":                    "compensator --help",
		"--fast":                 "--fast",
		"--every 0s":             "longer than 0",
		"--every often":          "--every",
		"--config /nowhere.yaml": "config: /nowhere.yaml: cannot be read",
		"":                       "postgres.url: is missing",
	} {
		got := execute(t.Context(), strings.Fields(args)...)
		if got.code != 2 || !strings.Contains(got.stderr, says) || got.stdout != "" {
			t.Errorf("%q: got %+v", args, got)
		}
	}
}

func TestServiceThatIsAwayIsNamedAndExits1(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	noPostgres, noKafka, noSchema, noTopic := s, s, s, s
	noPostgres.postgres, noKafka.broker = "postgres://u:hunter2@127.0.0.1:1/db", "127.0.0.1:1"
	noSchema.postgres, noTopic.retry = testbed.EmptyPostgres(t), testbed.Unique(t)
	for says, s := range map[string]services{
		"postgres 127.0.0.1:1": noPostgres, "kafka at 127.0.0.1:1": noKafka, "migrat": noSchema,
		"no such topic": noTopic,
	} {
		got := execute(t.Context(), "--config", s.config(t))
		if got.code != 1 || !strings.Contains(got.stderr, says) || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%s: got %+v", says, got)
		}
	}
}

func TestIdlePassExits0(t *testing.T) {
	t.Parallel()
	conf := onServices(t).config(t)
	if got := execute(t.Context(), "--config", conf); got.code != 0 || !strings.HasPrefix(got.stdout, "pass: re-queued 0, ") {
		t.Errorf("got %+v", got)
	}
	got := execute(t.Context(), "--json", "--config", conf)
	var counts map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &counts); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	if got.code != 0 || counts["completed"] != true || counts["requeued"] != 0.0 || counts["dry_run"] != false {
		t.Errorf("got %v", counts)
	}
}

func TestDryRunTellsAndDoesNothing(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	status := s.due(t)
	got := execute(t.Context(), "--dry-run", "--config", s.config(t))
	if got.code != 0 || !strings.HasPrefix(got.stdout, "would do: re-queued 1, ") || status() != push.Failed {
		t.Errorf("got %+v, row %s", got, status())
	}
}

// TestNothingIsQueuedWhileKafkaIsAway: a row that cannot be published stays as it is.
func TestNothingIsQueuedWhileKafkaIsAway(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	status := s.due(t)
	s.broker = "127.0.0.1:1"
	if got := execute(t.Context(), "--config", s.config(t)); got.code != 1 || status() != push.Failed {
		t.Errorf("got %+v, row %s", got, status())
	}
}

func TestDueDeliveryGoesToTheRetryTopic(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	status := s.due(t)
	got := execute(t.Context(), "--config", s.config(t))
	if got.code != 0 || !strings.HasPrefix(got.stdout, "pass: re-queued 1, ") || status() != push.Queued {
		t.Fatalf("got %+v, row %s", got, status())
	}
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.broker}, Topic: s.retry, MaxWait: 100 * time.Millisecond})
	defer func() { _ = reader.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	message, err := reader.ReadMessage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	record := push.Record{Value: message.Value}
	for _, h := range message.Headers {
		record.Headers = append(record.Headers, push.Header{Key: h.Key, Value: h.Value})
	}
	if asked, ok := record.Retry(); !ok || asked.Attempt != 2 || asked.Action != push.SMS {
		t.Errorf("got %+v, %v", asked, ok)
	}
}

func TestTextfileTellsOfEachPass(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	s.due(t)
	conf, path := s.config(t), filepath.Join(t.TempDir(), "pusher.prom")
	if got := execute(t.Context(), "--config", conf, "--textfile", "counts.txt"); got.code != 2 || !strings.Contains(got.stderr, ".prom") {
		t.Errorf("a name that node_exporter does not read: got %+v", got)
	}
	if got := execute(t.Context(), "--config", conf, "--textfile", path, "--dry-run"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a dry run is counted")
	}
	for range 2 {
		if got := execute(t.Context(), "--config", conf, "--textfile", path); got.code != 0 {
			t.Fatalf("got %+v", got)
		}
	}
	s.postgres = "postgres://u@127.0.0.1:1/db"
	if got := execute(t.Context(), "--config", s.config(t), "--textfile", path); got.code != 1 {
		t.Fatalf("got %+v", got)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`pusher_compensated_total{step="requeued"} 1`, `pusher_compensator_passes_total{result="completed"} 2`,
		`pusher_compensator_passes_total{result="failed"} 1`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestLoopRunsPassesUntilItIsEnded(t *testing.T) {
	t.Parallel()
	conf := onServices(t).config(t)
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	result := make(chan error, 1)
	nothing := func(string) (string, bool) { return "", false }
	go func() {
		result <- run(ctx, []string{"--every", "10ms", "--json", "--config", conf}, nothing, strings.NewReader(""), write, io.Discard)
		_ = write.Close()
	}()
	decoder := json.NewDecoder(read)
	for range 3 {
		var counts struct{ Completed bool }
		if err := decoder.Decode(&counts); err != nil || !counts.Completed {
			t.Fatalf("got %+v, %v", counts, err)
		}
	}
	stop()
	_, _ = io.Copy(io.Discard, read) // the last pass is not kept from printing
	if err := <-result; err != nil {
		t.Error(err)
	}
}

package main

import (
	"errors"
	"strings"
	"testing"

	"pusher/internal/consume"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

func TestCheckSaysOkForEachDependency(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	got := execute(t.Context(), "", "check", "--config", s.config(t))
	if got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	for _, want := range []string{
		"ok    configuration ", "ok    kafka " + s.brokers + ": answers", "ok    kafka topic " + s.topic + ": 2 partitions",
		"ok    kafka topic " + s.topic + "-retry", "ok    redis " + s.redis + ": answers", "ok    postgres: answers",
		"ok    postgres settings: ", "ok    postgres schema: version 000", "redis maxmemory-policy",
		"kafka topic " + s.topic + "-dlq",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	if strings.Contains(got.stdout, "bad ") {
		t.Error(got.stdout)
	}
}

func TestCheckNamesWhatIsAwayAndGoesOn(t *testing.T) {
	t.Parallel()
	s := services{
		brokers: "127.0.0.1:1", topic: "t", redis: "127.0.0.1:2", db: "0", postgres: "postgres://u:hunter2@127.0.0.1:3/db",
	}
	got := execute(t.Context(), "", "check", "--config", s.config(t))
	for _, want := range []string{"bad   kafka 127.0.0.1:1: ", "bad   redis 127.0.0.1:2: ", "bad   postgres: connecting to postgres 127.0.0.1:3"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	if got.code != 1 || !strings.Contains(got.stderr, "3 of the checks above are bad") || strings.Contains(got.stdout, "hunter2") {
		t.Errorf("got %+v", got)
	}
	if lines := strings.Count(got.stdout, "\n"); lines != 5 {
		t.Errorf("%d lines:\n%s", lines, got.stdout)
	}
}

func TestCheckSaysHowToMendTopicsAndSchema(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	s.topic, s.postgres = testbed.Unique(t), testbed.EmptyPostgres(t)
	got := execute(t.Context(), "", "check", "--config", s.config(t))
	if got.code != 1 || !strings.Contains(got.stdout, "bad   kafka topic "+s.topic+": no such topic; create it: kafka-topics.sh --bootstrap-server "+s.brokers) ||
		!strings.Contains(got.stdout, "; run pusher migrate up") {
		t.Errorf("got %+v", got)
	}
}

func TestCheckWithoutConfigurationLooksAtTheServicesAndExits2(t *testing.T) {
	t.Parallel()
	got := execute(t.Context(), "", "check", "--config", file(t, "kafka: {brokers: [\"127.0.0.1:1\"]}\nredis: {addrs: [\"127.0.0.1:2\"]}\n"))
	for _, want := range []string{": pushes: is missing", ": postgres.url: is missing", "bad   kafka 127.0.0.1:1", "bad   redis 127.0.0.1:2"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	if got.code != 2 || strings.Count(got.stdout, "\n") != 4 || strings.Contains(got.stdout, "config: ") {
		t.Errorf("got %+v", got)
	}
}

func TestFindingsOfTopicsAndSchema(t *testing.T) {
	t.Parallel()
	small := topicFinding(consume.TopicInfo{Name: "dlq", Partitions: 1, MaxMessageBytes: 1048588}, "k:1", true)
	if !small.warn || !strings.Contains(small.mend, "1114112") {
		t.Errorf("a dead-letter topic that cuts letters: %+v", small)
	}
	for _, size := range []int{0, 1114112} {
		if f := topicFinding(consume.TopicInfo{Name: "dlq", Partitions: 1, MaxMessageBytes: size}, "k:1", true); f.warn || f.err != nil {
			t.Errorf("max.message.bytes %d: %+v", size, f)
		}
	}
	away := errors.New("away")
	if f := schemaFinding(nil, away); !errors.Is(f.err, away) {
		t.Errorf("got %+v", f)
	}
	if f := schemaFinding([]store.Migration{{Name: "1.sql", Applied: true}}, nil); f.err != nil || f.says != "version 1.sql" {
		t.Errorf("got %+v", f)
	}
}

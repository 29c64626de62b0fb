package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"pusher/internal/cli"
	"pusher/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// ended is what a program left behind.
type ended struct {
	code           int
	stdout, stderr string
}

// execute runs the very program with a world of its own.
func execute(ctx context.Context, stdin string, args ...string) ended {
	var out, errs bytes.Buffer
	nothing := func(string) (string, bool) { return "", false }
	err := run(ctx, args, nothing, strings.NewReader(stdin), &out, &errs)
	cli.Report(&errs, "pusher", err)
	return ended{cli.ExitCode(err), out.String(), errs.String()}
}

// file writes a configuration file.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pusher.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// services are the addresses of a test's own corner of each service.
type services struct {
	brokers, redis, db string
	topic              string // and its -retry and -dlq
	postgres           string
}

// onServices gives real services, with the topics made.
func onServices(t *testing.T) services {
	t.Helper()
	redisOptions := testbed.Redis(t)
	s := services{
		brokers: strings.Join(testbed.Kafka(t), ","), topic: testbed.Topic(t, 2),
		redis: redisOptions.Addr, db: strconv.Itoa(redisOptions.DB), postgres: testbed.Postgres(t),
	}
	testbed.MakeTopic(t, testbed.Kafka(t)[0], s.topic+"-retry", 1)
	testbed.MakeTopic(t, testbed.Kafka(t)[0], s.topic+"-dlq", 1)
	return s
}

// config writes the configuration of these services with one push.
func (s services) config(t *testing.T) string {
	t.Helper()
	return file(t, fmt.Sprintf(`
kafka: {brokers: [%q], topic: %s, retry_topic: %s-retry, dead_letter_topic: %s-dlq}
redis: {addrs: [%q], db: %s}
postgres: {url: %q}
pushes:
  resume_viewed:
    actions:
      notify: {title: "Your resume was viewed", body: "{{.company}}"}
`, s.brokers, s.topic, s.topic, s.topic, s.redis, s.db, s.postgres))
}

// client opens the test's own Redis database.
func (s services) client(t *testing.T) *redis.Client {
	t.Helper()
	var db int
	_, _ = fmt.Sscan(s.db, &db)
	client := redis.NewClient(&redis.Options{Addr: s.redis, DB: db})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// complaints are the lines on stderr that are no log.
func (e ended) complaints() []string {
	var lines []string
	for line := range strings.Lines(e.stderr) {
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func TestUsageAndConfigurationErrorsExit2WithOneLine(t *testing.T) {
	t.Parallel()
	wrong, empty := file(t, "kafka: {}\nworker: {in_flght: 3}\n"), file(t, "kafka: {topic: t}\n")
	broken := file(t, "pushes:\n  p:\n    actions:\n      notify: {title: t, body: \"{{.company\"}\n")
	cases := map[string]struct {
		args []string
		says string
	}{
		"no command":          {nil, "takes one of check, "},
		"unknown command":     {[]string{"rum"}, `unknown command "rum"`},
		"unknown flag":        {[]string{"check", "--quick"}, "--quick"},
		"word too many":       {[]string{"version", "x"}, "pusher version --help"},
		"flag of a type":      {[]string{"log", "list", "--limit", "many"}, "--limit"},
		"limit":               {[]string{"log", "list", "--limit", "0", "--config", empty}, "--limit 0"},
		"status":              {[]string{"log", "list", "--status", "lost", "--config", empty}, `--status "lost"`},
		"name of two words":   {[]string{"log", "show", "a", "b"}, "BIZ_TYPE BIZ_ID ACTION"},
		"no key":              {[]string{"log", "show", "dedup:a"}, "push:dedup:"},
		"configuration":       {[]string{"check", "--config", wrong}, "config: " + wrong + ":2: worker.in_flght: unknown key"},
		"template":            {[]string{"check", "--config", broken}, "config: " + broken + ":4: pushes.p.actions.notify.body: "},
		"no such file":        {[]string{"check", "--config", "/nowhere.yaml"}, "config: /nowhere.yaml: cannot be read"},
		"no postgres":         {[]string{"migrate", "up", "--config", empty}, "postgres.url: is missing"},
		"no postgres for log": {[]string{"log", "stats", "--config", empty}, "postgres.url: is missing"},
		"no pushes":           {[]string{"send", "--config", empty}, "pushes: is missing"},
		"faults file":         {[]string{"sandbox", "--faults", "/nowhere.json"}, "/nowhere.json"},
		"faults":              {[]string{"sandbox", "--faults", file(t, `{"faults":[{"kind":"explode"}]}`)}, "explode"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(t.Context(), "", c.args...)
			lines := got.complaints()
			if got.code != 2 || len(lines) != 1 || !strings.Contains(lines[0], c.says) || got.stdout != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestVersionAndHelpAreResults(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"version": "pusher ", "--version": "pusher ", "--help": "Exit codes", "send --help": "JSON"} {
		got := execute(t.Context(), "", strings.Fields(args)...)
		if got.code != 0 || !strings.Contains(got.stdout, want) || got.stderr != "" {
			t.Errorf("%s: got %+v", args, got)
		}
	}
}

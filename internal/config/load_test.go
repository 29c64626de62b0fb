package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

// valid is a small whole configuration; cases change one line of it.
const valid = `postgres: {url: "postgres://u:p@127.0.0.1/db"}
channels:
  sms:
    aliyun: {access_key_id: id, access_key_secret: s3cret, sign_name: Sign}
  wechat: {app_id: wx1, app_secret: s3cret}
pushes:
  resume_viewed:
    dedup: {by: biz_id}
    actions:
      notify: {title: Seen, body: "{{.company}}"}
      sms: {aliyun: {template: SMS_1, params: {company: "{{.company}}"}}}
      wechat: {template: TPL1, data: {thing1: "{{.company}}"}}
`

// write puts text into a file named pusher.yaml.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pusher.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// environment is a lookup over NAME=value pairs.
func environment(pairs ...string) Lookup {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

// load loads text with the variables given.
func load(t *testing.T, text string, env ...string) (*Config, []Warning, error) {
	t.Helper()
	return Load(write(t, text), environment(env...), env)
}

func mustLoad(t *testing.T, text string, env ...string) *Config {
	t.Helper()
	c, _, err := load(t, text, env...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// problems gives what is wrong with text.
func problems(t *testing.T, text string, env ...string) []Problem {
	t.Helper()
	_, _, err := load(t, text, env...)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *Error", err)
	}
	return e.Problems
}

func TestEmptyFileIsTheContractsDefaults(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "# nothing\n")
	got := []any{
		c.Kafka.Brokers[0], c.Kafka.Topic, c.Kafka.RetryTopic, c.Kafka.DeadLetterTopic, c.Kafka.Group, c.Kafka.Start,
		c.Redis.Addrs[0], c.Redis.Mode, c.Worker.InFlight, c.Worker.Grace, c.Dedup.Window, c.Dedup.Lease, c.Dedup.Zone,
		c.Dedup.OnRedisDown, c.HTTP.Addr, c.Retry.MaxAttempts, c.Retry.First, c.Retry.Factor, c.Retry.Max,
		c.Retry.Jitter, c.Channels.SMS.Timeout, c.Channels.SMS.AskFor, c.Channels.SMS.WhenUnknown,
		c.Channels.SMS.HoldMax, c.Channels.WeChat.ResendWithin, c.Channels.WeChat.HoldMax, c.Phone.Region,
	}
	want := []any{
		"127.0.0.1:9092", "push-events", "push-events-retry", "push-events-dlq", "pusher", "first",
		"127.0.0.1:6379", "single", 1024, 25 * time.Second, 24 * time.Hour, 30 * time.Second, "Asia/Shanghai",
		"pause", "127.0.0.1:8080", 8, 30 * time.Second, 2.0, time.Hour,
		0.2, 5 * time.Second, 15 * time.Minute, "hold",
		72 * time.Hour, 9 * time.Minute, 72 * time.Hour, "CN",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestDefaultsThatFollowFromOtherSettings(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "worker: {in_flight: 10, grace: 50s}\ndedup: {window: 48h}\n"+valid)
	p := c.Pushes["resume_viewed"]
	if c.Worker.Waiting != 40 || c.Kafka.SessionTimeout != 55*time.Second {
		t.Errorf("waiting %d, session %s", c.Worker.Waiting, c.Kafka.SessionTimeout)
	}
	if p.Version != "v1" || p.Dedup.Window != 48*time.Hour {
		t.Errorf("version %s, window %s", p.Version, p.Dedup.Window)
	}
	if !slices.Equal(c.Channels.SMS.Providers, []string{"aliyun"}) {
		t.Errorf("providers %v, want the one with a key", c.Channels.SMS.Providers)
	}
}

func TestWithoutFileTheEnvironmentAloneCounts(t *testing.T) {
	t.Parallel()
	c, _, err := Load("", environment("PUSHER_KAFKA_TOPIC=other"), nil)
	if err != nil || c.Kafka.Topic != "other" || c.Redis.Mode != "single" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestFileThatCannotBeReadIsAProblem(t *testing.T) {
	t.Parallel()
	_, _, err := Load("/nowhere/pusher.yaml", environment(), nil)
	if err == nil || err.Error() != "config: /nowhere/pusher.yaml: cannot be read: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

func TestAnchorsAndByteOrderMarkAreRead(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "\ufeffredis: {timeout: &t 2s}\r\npostgres: {timeout: *t}\r\n")
	if c.Redis.Timeout != 2*time.Second || c.Postgres.Timeout != 2*time.Second {
		t.Errorf("got %s and %s", c.Redis.Timeout, c.Postgres.Timeout)
	}
}

func TestEmptyValuesKeepTheDefault(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "kafka:\n  topic:\n  brokers: ~\nretry:\nhttp: {addr: }\n")
	if c.Kafka.Topic != "push-events" || c.Retry.MaxAttempts != 8 || c.HTTP.Addr != "127.0.0.1:8080" {
		t.Errorf("got %+v", c)
	}
}

func TestPushActionsAreTheConfiguredChannels(t *testing.T) {
	t.Parallel()
	a := PushActions{WeChat: &WeChatTemplate{}, Notify: &NotifyTemplate{}}
	if got := a.List(); !slices.Equal(got, []push.Action{push.Notify, push.WeChat}) {
		t.Errorf("got %v", got)
	}
}

func TestDerivedRulesBackoffAndPolicy(t *testing.T) {
	t.Parallel()
	text := strings.Replace(valid, "dedup: {by: biz_id}", "version: v2\n    dedup: {by: [recipient.user_id, date], window: 1h}", 1)
	c := mustLoad(t, text)
	rule := c.Rules()["resume_viewed"]
	event := &push.Event{Recipient: push.Recipient{UserID: "u 1"}}
	id, err := rule.DedupID(event, time.Date(2026, 1, 1, 20, 0, 0, 0, time.UTC))
	if err != nil || id != "u%201,2026-01-02" {
		t.Errorf("dedup id %q, %v", id, err)
	}
	if rule.Version != "v2" || rule.Window != time.Hour || rule.BizType != "resume_viewed" || rule.Region != "CN" {
		t.Errorf("got %+v", rule)
	}
	if c.Backoff().Wait(1, 0.5) != 30*time.Second || c.Policy().SMS.AskFor != 15*time.Minute || c.Policy().SMS.Resend {
		t.Errorf("got %+v, %+v", c.Backoff(), c.Policy())
	}
}

func TestNeedsNameTheKey(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "kafka: {}\npostgres: {max_conns: 4}\n")
	if err := c.NeedPostgres(); err == nil || !strings.Contains(err.Error(), "pusher.yaml:2: postgres.url: is missing") {
		t.Errorf("got %v", err)
	}
	if err := c.NeedPushes(); err == nil || !strings.Contains(err.Error(), "pusher.yaml: pushes: is missing") {
		t.Errorf("got %v", err)
	}
	full := mustLoad(t, valid)
	if full.NeedPostgres() != nil || full.NeedPushes() != nil {
		t.Error("a full configuration lacks something")
	}
}

func TestDSNTurnsPreparedStatementsOff(t *testing.T) {
	t.Parallel()
	const url = "postgres://u:p%40@h:5432/db?sslmode=disable"
	for _, c := range []struct {
		p    Postgres
		want string
	}{
		{Postgres{URL: url, StatementCache: true}, url},
		{Postgres{URL: url}, "postgres://u:p%40@h:5432/db?default_query_exec_mode=exec&sslmode=disable"},
		{Postgres{URL: "postgres://h/db?default_query_exec_mode=simple_protocol"}, "postgres://h/db?default_query_exec_mode=simple_protocol"},
	} {
		if got := c.p.DSN(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

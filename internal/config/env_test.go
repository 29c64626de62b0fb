package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// other is a text that sets a leaf to something that is not its default.
func other(l leaf) string {
	switch {
	case isDuration(l.value.Type()):
		return "7s"
	case l.value.Kind() == reflect.Bool:
		return strconv.FormatBool(!l.value.Bool())
	case l.value.Kind() == reflect.Int, l.value.Kind() == reflect.Float64:
		return "17"
	case l.value.Kind() == reflect.Slice:
		return "a:1, b:2,"
	}
	return "other"
}

// TestEveryLeafHasAnOverride sets each setting outside pushes by its own variable, reflectively.
func TestEveryLeafHasAnOverride(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, l := range leaves(reflect.ValueOf(Default()).Elem(), "") {
		name := variable(l.key)
		if before, ok := seen[name]; ok {
			t.Errorf("%s and %s share %s", before, l.key, name)
		}
		seen[name] = l.key

		before := reflect.ValueOf(l.value.Interface())
		d := newDecoder("")
		d.override([]leaf{l}, environment(name+"="+other(l)))
		if len(d.problems) > 0 || reflect.DeepEqual(before.Interface(), l.value.Interface()) {
			t.Errorf("%s left %s at %v: %v", name, l.key, l.value, d.problems)
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d settings found", len(seen))
	}
}

func TestVariablesWinOverTheFile(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "kafka: {brokers: [a:1], topic: t}\nworker: {grace: 3s}\n",
		"PUSHER_KAFKA_BROKERS=b:1, c:2", "PUSHER_WORKER_GRACE=4s", "PUSHER_KAFKA_TOPIC=")
	if !slices.Equal(c.Kafka.Brokers, []string{"b:1", "c:2"}) || c.Worker.Grace != 4*time.Second {
		t.Errorf("got %v and %s", c.Kafka.Brokers, c.Worker.Grace)
	}
	if c.Kafka.Topic != "t" {
		t.Errorf("an empty variable counted: topic %q", c.Kafka.Topic)
	}
}

func TestProblemOfAVariableNamesIt(t *testing.T) {
	t.Parallel()
	for variable, key := range map[string]string{
		"PUSHER_WORKER_IN_FLIGHT=ten": "worker.in_flight", "PUSHER_WORKER_GRACE=10": "worker.grace",
		"PUSHER_RETRY_FACTOR=NaN": "retry.factor", "PUSHER_REDIS_TLS_ENABLED=on": "redis.tls.enabled",
		"PUSHER_KAFKA_START=x": "kafka.start", "PUSHER_KAFKA_BROKERS=,": "kafka.brokers",
	} {
		got := problems(t, valid, variable)
		name, _, _ := strings.Cut(variable, "=")
		if len(got) != 1 || got[0].Key != key || got[0].Source != name || got[0].Line != 0 {
			t.Errorf("%s: got %v", variable, got)
		}
	}
}

func TestUnknownVariablesOnlyWarn(t *testing.T) {
	t.Parallel()
	_, warnings, err := load(t, valid, "PUSHER_SERVICE_HOST=10.0.0.1", "PUSHER_PORT=tcp://x", "HOME=/", "PUSHER_CONFIG=x",
		"PUSHER_KAFKA_TOPIC=t", "PUSHER_HTTP_OPERATOR_TOKEN_FILE=", "PUSHER_PUSHES=x")
	want := []Warning{
		"PUSHER_PORT: no setting has this name; ignored", "PUSHER_PUSHES: no setting has this name; ignored",
		"PUSHER_SERVICE_HOST: no setting has this name; ignored",
	}
	if err != nil || !slices.Equal(warnings, want) {
		t.Errorf("got %q, %v", warnings, err)
	}
}

func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSecretsComeFromFilesWithoutTheLastNewline(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "redis: {password_file: "+secretFile(t, "one \n\n")+"}\nhttp: {operator_token_file: "+secretFile(t, "the file's own token")+"}\n",
		"PUSHER_POSTGRES_URL_FILE="+secretFile(t, "postgres://h/db\r\n"), "PUSHER_HTTP_OPERATOR_TOKEN=the variable's token")
	if c.Redis.Password != "one \n" || c.Postgres.URL != "postgres://h/db" {
		t.Errorf("got %q and %q", c.Redis.Password.Reveal(), c.Postgres.URL.Reveal())
	}
	if c.HTTP.OperatorToken != "the variable's token" {
		t.Errorf("the file won over the variable: %q", c.HTTP.OperatorToken.Reveal())
	}
}

func TestSecretGivenTwiceOrUnreadableIsAProblem(t *testing.T) {
	t.Parallel()
	file := secretFile(t, "x")
	cases := []struct {
		text, key string
		env       []string
	}{
		{"redis:\n  password: p\n  password_file: " + file, "redis.password_file", nil},
		{"", "redis.password_file", []string{"PUSHER_REDIS_PASSWORD=p", "PUSHER_REDIS_PASSWORD_FILE=" + file}},
		{"redis: {password_file: /nowhere/x}", "redis.password_file", nil},
		{"postgres: {url_file: " + file + "}", "postgres.url", nil},
	}
	for _, c := range cases {
		got := problems(t, c.text+"\n", c.env...)
		if len(got) != 1 || got[0].Key != c.key {
			t.Errorf("%q %q: got %v", c.text, c.env, got)
		}
	}
}

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/segmentio/kafka-go"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// TestFieldReport01_PostgresAwayCommitsNothing: while the push log refuses connections no offset passes the event that
// waits for it; when it is back everything is sent once, without a restart.
func TestFieldReport01_PostgresAwayCommitsNothing(t *testing.T) {
	t.Parallel()
	postgres := testbed.OwnPostgres(t)
	c := settings()
	c.Kafka.Brokers = testbed.Kafka(t)
	c.Kafka.Topic, c.Kafka.RetryTopic, c.Kafka.DeadLetterTopic = testbed.Topic(t, 1), testbed.Topic(t, 1), testbed.Topic(t, 1)
	c.Kafka.Group = testbed.Unique(t)
	options := testbed.Redis(t)
	c.Redis.Addrs, c.Redis.DB = []string{options.Addr}, options.DB
	c.Postgres.URL = config.Secret(testbed.MigratedDatabase(t, postgres.URL))
	s := connect(t, c)
	s.run()
	s.write(event(0, `"actions":["notify"],`))
	s.settled(1, push.Sent)
	s.eventually("lag 0", func() bool { return s.lag() == 0 })

	postgres.Stop()
	s.write(event(1, ""), event(2, ""), event(3, ""))
	time.Sleep(2 * time.Second) // long enough for a premature commit to show
	if got := s.lag(); got != 3 {
		t.Errorf("lag %d while the push log is away, want 3: an offset passed an event without a row", got)
	}
	if got := s.sandbox.Journal().Total(""); got != 0 {
		t.Errorf("%d sends without an intent", got)
	}
	postgres.Start()
	s.settled(10, push.Sent)
	s.eventually("lag 0", func() bool { return s.lag() == 0 })
	if got := s.sandbox.Journal().Total(""); got != 6 || len(s.sandbox.Journal().Twice()) > 0 {
		t.Errorf("%d accepted sends, want 6, none twice", got)
	}
}

// TestFieldReport02_StartsAtTheFirstOffset: what was produced before the first start, or while the worker was away on
// a partition without commit, is delivered.
func TestFieldReport02_StartsAtTheFirstOffset(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 3)
	to := func(partition, id int) {
		t.Helper()
		conn, err := kafka.DialLeader(t.Context(), "tcp", s.cfg.Kafka.Brokers[0], s.cfg.Kafka.Topic, partition)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.WriteMessages(kafka.Message{Value: []byte(event(id, `"actions":["notify"],`))}); err != nil {
			t.Fatal(err)
		}
	}
	to(0, 1)
	to(1, 2)
	_, stop := s.run()
	s.settled(2, push.Sent)
	stop()
	to(2, 3)
	s.run()
	s.settled(3, push.Sent)
}

// TestFieldReport03_TopicsAppearAndGrow: the worker starts without its topics, says so, and picks them up.
func TestFieldReport03_TopicsAppearAndGrow(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.cfg.Kafka.Topic, s.cfg.Kafka.RetryTopic = testbed.Unique(t)+"-main", testbed.Unique(t)+"-retry"
	p, _ := s.run()
	s.eventually("readiness says which topic", func() bool {
		code, body := get(t, "http://"+p.Addr()+"/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, s.cfg.Kafka.Topic)
	})
	broker := s.cfg.Kafka.Brokers[0]
	testbed.MakeTopic(t, broker, s.cfg.Kafka.Topic, 3)
	testbed.MakeTopic(t, broker, s.cfg.Kafka.RetryTopic, 1)
	s.write(event(1, `"actions":["notify"],`))
	s.settled(1, push.Sent)
	s.eventually("ready", func() bool { code, _ := get(t, "http://"+p.Addr()+"/readyz"); return code == http.StatusOK })
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = r.Body.Close() }()
	var b bytes.Buffer
	_, _ = b.ReadFrom(r.Body)
	return r.StatusCode, b.String()
}

// TestFieldReport05_StopWhenIdleIsQuickAndQuiet.
func TestFieldReport05_StopWhenIdleIsQuickAndQuiet(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	var log testbed.Log
	p, err := assemble.NewPusher(t.Context(), s.cfg, zerolog.New(&log), "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	s.eventually("ready", func() bool { code, _ := get(t, "http://"+p.Addr()+"/readyz"); return code == http.StatusOK })
	began := time.Now()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("stopping took %v", took)
	}
	if lines := strings.Count(log.String(), "\n"); lines > 20 {
		t.Errorf("%d log lines, want fewer than 20:\n%s", lines, log.String())
	}
}

// TestFieldReport07_PoisonLastOnItsPartition: it is written to the dead-letter topic once, over restarts.
func TestFieldReport07_PoisonLastOnItsPartition(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.write(event(1, `"actions":["notify"],`), "{broken")
	for range 3 {
		_, stop := s.run()
		s.eventually("lag 0", func() bool { return s.lag() == 0 })
		stop()
	}
	s.settled(1, push.Sent)
	if got := s.ends(s.cfg.Kafka.DeadLetterTopic)[0]; got != 1 {
		t.Errorf("%d dead letters, want 1", got)
	}
}

// TestFieldReport07_TemplateThatCannotRender: the delivery is given up with a letter, the process and its neighbours
// go on.
func TestFieldReport07_TemplateThatCannotRender(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.cfg.Pushes["resume_viewed"].Actions.SMS.Aliyun.Params["company"] = `{{.nobody_sends_this}}`
	s.run()
	s.write(event(1, ""), event(2, ""))
	s.eventually("the others sent", func() bool {
		got := s.statuses()
		return got["notify sent"] == 2 && got["wechat sent"] == 2 && got["sms dead"] == 2
	})
	s.eventually("letters", func() bool { s.pass(); return s.number(`SELECT count(*) FROM push_log WHERE letter_due`) == 0 })
	for _, l := range s.deadLetters(2) {
		var value struct {
			Actions []string `json:"actions"`
			Error   struct {
				Code string `json:"code"`
			} `json:"last_error"`
		}
		if err := json.Unmarshal(l.Value, &value); err != nil {
			t.Fatal(err)
		}
		if header(l, push.HeaderReason) != push.ReasonDead || header(l, push.HeaderAction) != "sms" || len(value.Actions) != 1 || value.Error.Code == "" {
			t.Errorf("letter %s with %v", l.Value, l.Headers)
		}
	}
	if got := s.sandbox.Requests(provider.Aliyun, provider.CallSend); got != 0 {
		t.Errorf("%d requests for a message that cannot be rendered", got)
	}
}

// TestFieldReport14_RetryIsNotSwallowedByItsOwnKey: refused once, then healthy; meanwhile the record itself comes again.
func TestFieldReport14_RetryIsNotSwallowedByItsOwnKey(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	if err := s.sandbox.SetFaults([]provider.Fault{{Provider: provider.Aliyun, Count: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"}}); err != nil {
		t.Fatal(err)
	}
	s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.settled(1, push.Failed)
	s.write(event(1, `"actions":["sms"],`))
	s.eventually("the duplicate read", func() bool { return s.lag() == 0 })
	s.eventually("sent", func() bool { s.pass(); return s.statuses()["sms sent"] == 1 })
	s.write(event(1, `"actions":["sms"],`))
	s.eventually("the duplicate read", func() bool { return s.lag() == 0 })
	if got := s.number(`SELECT attempt FROM push_log`); got != 2 {
		t.Errorf("attempt %d, want 2", got)
	}
	if got := s.sandbox.Journal().Total(""); got != 1 {
		t.Errorf("%d accepted sends, want 1", got)
	}
}

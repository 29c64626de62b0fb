package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/local"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// behindLines is a Kafka that each client of a line reaches through that line only.
func behindLines(t *testing.T, n int) (broker string, lines []*line) {
	t.Helper()
	told := make([]string, n)
	for i := range n {
		lines = append(lines, newLine(t, ""))
		told[i] = lines[i].addr()
	}
	server, err := local.Kafka(t.Context(), told...)
	if err != nil {
		t.Skipf("needs Kafka on this machine: %v", err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for i, l := range lines {
		l.mu.Lock()
		l.upstream = server.Doors[i]
		l.mu.Unlock()
	}
	return server.Addr, lines
}

// onKafka makes a system on a Kafka of its own.
func onKafka(t *testing.T, broker string, partitions int) *system {
	t.Helper()
	c := settings()
	c.Kafka.Brokers = []string{broker}
	name := testbed.Unique(t)
	c.Kafka.Topic, c.Kafka.RetryTopic, c.Kafka.DeadLetterTopic, c.Kafka.Group = name, name+"-retry", name+"-dlq", name
	testbed.MakeTopic(t, broker, c.Kafka.Topic, partitions)
	testbed.MakeTopic(t, broker, c.Kafka.RetryTopic, partitions)
	testbed.MakeTopic(t, broker, c.Kafka.DeadLetterTopic, 1)
	options := testbed.Redis(t)
	c.Redis.Addrs, c.Redis.DB = []string{options.Addr}, options.DB
	c.Postgres.URL = config.Secret(testbed.Postgres(t))
	c.Kafka.SessionTimeout, c.Worker.Grace = 6*time.Second, 5*time.Second
	s := connect(t, c)
	s.patient()
	return s
}

// ready asks a pusher's /readyz.
func (s *system) ready(addr string) (ok bool, body string) {
	s.t.Helper()
	code, body := get(s.t, "http://"+addr+"/readyz")
	return code == http.StatusOK, body
}

// notFetching waits until /readyz says that nothing is read.
func (s *system) notFetching(addr string) {
	s.t.Helper()
	s.eventually("readiness says that nothing is fetched", func() bool {
		ok, body := s.ready(addr)
		return !ok && (strings.Contains(body, "not fetching") || strings.Contains(body, "not a member"))
	})
}

// TestFieldReport04_BrokerRestartUnderLoad: two pushers in the middle of their work, the broker is away, for a minute at
// full size. They say so, read on without a restart, and nothing is lost or sent twice.
func TestFieldReport04_BrokerRestartUnderLoad(t *testing.T) {
	t.Parallel()
	broker, away := testbed.OwnKafka(t), 8*time.Second
	if os.Getenv(longVariable) != "" {
		away = time.Minute
	}
	s := onKafka(t, broker.Addr, 2)
	s.cfg.Worker.InFlight = 8
	s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(100 * time.Millisecond)})
	p, _ := s.run()
	s.run()
	const n = 300
	var values []string
	for i := range n {
		values = append(values, event(i, `"actions":["sms"],`))
	}
	s.write(values...)
	s.eventually("work is under way", func() bool { return s.sandbox.Journal().Total("") > 20 })
	broker.Stop()
	down := time.Now()
	s.notFetching(p.Addr())
	time.Sleep(time.Until(down.Add(away)))
	broker.Start()
	began := time.Now()
	one := []push.Record{{Origin: push.Origin{Topic: s.cfg.Kafka.Topic}, Value: []byte(event(n, `"actions":["sms"],`))}}
	s.eventually("the partition has its leader again", func() bool { return s.written.Publish(t.Context(), one) == nil })
	s.sentInTheEnd(n + 1)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("reading again took %v", took)
	}
	s.caughtUp()
	s.accepted(n + 1)
	s.eventually("ready again", func() bool { ok, _ := s.ready(p.Addr()); return ok })
}

// TestKafkaBehindLines: what becomes of a pusher, or of a pass, whose way to Kafka breaks while the others' does not.
func TestKafkaBehindLines(t *testing.T) {
	t.Parallel()
	broker, lines := behindLines(t, 4)
	t.Run("FieldReport04 the coordinator is cut off and found again", func(t *testing.T) {
		t.Parallel()
		coordinatorCut(t, broker, lines[0])
	})
	t.Run("FieldReport05b SIGTERM while Kafka is a black hole", func(t *testing.T) {
		t.Parallel()
		stopInTheHole(t, broker, lines[1])
	})
	t.Run("a consumer is kicked out of the group while it sends", func(t *testing.T) {
		t.Parallel()
		kickedOut(t, broker, lines[2])
	})
	t.Run("FieldReport10a the re-enqueue lands although its answer is lost", func(t *testing.T) {
		t.Parallel()
		lateWrite(t, broker, lines[3])
	})
}

func (s *system) through(l *line) *config.Config {
	return s.but(func(c *config.Config) { c.Kafka.Brokers = []string{l.addr()} })
}

func coordinatorCut(t *testing.T, broker string, l *line) {
	t.Helper()
	s := onKafka(t, broker, 1)
	p, _ := s.runOn(s.through(l))
	s.write(event(1, ""))
	s.settled(3, push.Sent)
	l.dig()
	s.notFetching(p.Addr())
	s.write(event(2, ""))
	l.fill()
	s.settled(6, push.Sent)
	s.caughtUp()
	s.accepted(4)
	s.eventually("ready again", func() bool { ok, _ := s.ready(p.Addr()); return ok })
}

func stopInTheHole(t *testing.T, broker string, l *line) {
	t.Helper()
	s := onKafka(t, broker, 1)
	s.cfg.Worker.Grace = 4 * time.Second
	s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(time.Second)})
	_, stop := s.runOn(s.through(l))
	s.write(event(1, ""), event(2, ""))
	s.eventually("all is out", func() bool { return s.number(`SELECT count(*) FROM push_log WHERE status IN ('sending', 'sent')`) == 6 })
	s.eventually("all are at the providers", func() bool {
		return s.sandbox.Requests(provider.WeChat, provider.CallSend)+s.sandbox.Requests(provider.Aliyun, provider.CallSend) == 4
	})
	l.dig()
	began := time.Now()
	stop()
	if took := time.Since(began); took > s.cfg.Worker.Grace+4*time.Second {
		t.Errorf("the end took %v, the grace is %v", took, s.cfg.Worker.Grace)
	}
	if got := s.number(`SELECT count(*) FROM push_log WHERE status IN ('sending', 'unknown')`); got != 0 {
		t.Errorf("the log says %v: what was out was not finished", s.statuses())
	}
	l.fill()
	s.run()
	s.caughtUp() // the records come again, and end as duplicates
	s.sentInTheEnd(6)
	s.accepted(4)
}

// kickedOut: the group gives the partitions of a member it does not hear to another, which meets deliveries that the
// first one is about to send.
func kickedOut(t *testing.T, broker string, l *line) {
	t.Helper()
	s := onKafka(t, broker, 2)
	s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(400 * time.Millisecond)})
	s.cfg.Worker.InFlight = 1
	s.runOn(s.through(l))
	const n = 30
	var values []string
	for i := range n {
		values = append(values, event(i, `"actions":["sms"],`))
	}
	s.write(values...)
	s.eventually("it sends", func() bool { return s.sandbox.Journal().Total("") > 2 })
	l.dig()
	p, _ := s.run()
	s.eventually("the other one owns the partitions", func() bool {
		_, metrics := get(t, "http://"+p.Addr()+"/metrics")
		return strings.Count(metrics, "pusher_watermark_offset{") == 4 // two of either topic
	})
	s.sentInTheEnd(n)
	l.fill()
	s.write(event(n, `"actions":["sms"],`))
	s.sentInTheEnd(n + 1)
	s.caughtUp()
	s.accepted(n + 1)
}

// lateWrite: the broker takes the retry message, the pass never hears of it, and tries again.
func lateWrite(t *testing.T, broker string, l *line) {
	t.Helper()
	s := onKafka(t, broker, 1)
	s.faults(provider.Fault{Count: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	s.write(event(1, `"actions":["sms"],`))
	_, stop := s.run()
	s.settled(1, push.Failed)
	stop()
	s.eventually("due", func() bool { return s.number(`SELECT count(*) FROM push_log WHERE next_attempt_at <= now()`) == 1 })
	l.losing(func(request []byte) bool { return len(request) > 6 && request[4] == 0 && request[5] == 0 }) // Produce
	if sum, err := s.passAs(s.through(l)); err == nil || sum.Requeued != 1 {
		t.Errorf("the pass says %+v, %v; its write was not answered", sum, err)
	}
	if got := s.ends(s.cfg.Kafka.RetryTopic)[0]; got == 0 {
		t.Error("the write did not land")
	}
	s.run()
	s.settled(1, push.Sent)
	for range 2 {
		s.pass()
	}
	s.caughtUp()
	s.accepted(1)
	if got := s.number(`SELECT count(*) FROM push_log WHERE attempt = 2 AND retries_used = 1`); got != 1 {
		t.Error("the attempt was not counted once")
	}
}

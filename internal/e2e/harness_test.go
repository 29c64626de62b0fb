package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"pusher/internal/assemble"
	"pusher/internal/compensate"
	"pusher/internal/config"
	"pusher/internal/consume"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))) // these tests wait more than they work
	testbed.Main(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(programsDir())
		os.Exit(code)
	}))
}

// soon bounds every wait for something that must happen.
const soon = 60 * time.Second

// system is one isolated system under test: topics, a database, a Redis and providers of its own.
type system struct {
	t       *testing.T
	cfg     *config.Config
	sandbox *provider.Sandbox
	db      *pgxpool.Pool
	written *consume.Producer
	kafka   *kafka.Client // asks for offsets
	odd     bool          // configured on purpose as no program would take it
}

// newSystem makes a system on the shared servers.
func newSystem(t *testing.T, partitions int) *system {
	t.Helper()
	return newSystemWith(t, partitions, provider.Config{})
}

// newSystemWith is newSystem with providers of some kind.
func newSystemWith(t *testing.T, partitions int, providers provider.Config) *system {
	t.Helper()
	c := settings()
	c.Kafka.Brokers = testbed.Kafka(t)
	c.Kafka.Topic, c.Kafka.RetryTopic = testbed.Topic(t, partitions), testbed.Topic(t, partitions)
	c.Kafka.DeadLetterTopic = testbed.Topic(t, 1)
	c.Kafka.Group = testbed.Unique(t)
	options := testbed.Redis(t)
	c.Redis.Addrs, c.Redis.DB = []string{options.Addr}, options.DB
	c.Postgres.URL = config.Secret(testbed.Postgres(t))
	return connectWith(t, c, providers)
}

// connect opens the tests' own view of a configured system.
func connect(t *testing.T, c *config.Config) *system {
	t.Helper()
	return connectWith(t, c, provider.Config{})
}

func connectWith(t *testing.T, c *config.Config, providers provider.Config) *system {
	t.Helper()
	s := &system{t: t, cfg: c}
	var err error
	if s.sandbox, err = provider.New(providers); err != nil {
		t.Fatal(err)
	}
	if err := s.sandbox.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	box := s.sandbox
	t.Cleanup(func() { _ = box.Close() })
	c.Channels.SMS.Aliyun.Endpoint, c.Channels.SMS.Tencent.Endpoint = s.sandbox.URL(), s.sandbox.URL()
	c.Channels.WeChat.Endpoint = s.sandbox.URL()
	if s.db, err = pgxpool.New(t.Context(), c.Postgres.URL.Reveal()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.db.Close)
	if s.written, err = assemble.Producer(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.written.Close(context.Background()) })
	transport := &kafka.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	s.kafka = &kafka.Client{Addr: kafka.TCP(c.Kafka.Brokers...), Transport: transport}
	return s
}

// settings is the contract's example, with short times.
func settings() *config.Config {
	c := config.Default()
	c.HTTP.Addr, c.Kafka.SessionTimeout = "127.0.0.1:0", 30*time.Second
	c.Worker.InFlight, c.Worker.Waiting, c.Worker.Grace = 64, 256, 10*time.Second
	c.Dedup.Lease = 4 * time.Second
	c.Retry.First, c.Retry.Factor, c.Retry.Max, c.Retry.Jitter = 200*time.Millisecond, 2, 2*time.Second, 0
	c.Channels.Notify.Timeout, c.Channels.SMS.Timeout, c.Channels.WeChat.Timeout = time.Second, time.Second, time.Second
	c.Channels.SMS.Providers = []string{config.ProviderAliyun}
	a := &c.Channels.SMS.Aliyun
	a.AccessKeyID, a.AccessKeySecret, a.SignName = provider.DefaultKeyID, provider.DefaultSecret, "Test"
	c.Channels.WeChat.AppID, c.Channels.WeChat.AppSecret = provider.DefaultKeyID, provider.DefaultSecret
	c.Pushes = map[string]config.Push{"resume_viewed": {
		Version: "v1",
		Dedup:   config.PushDedup{By: config.By{"biz_id"}, Window: c.Dedup.Window},
		Actions: config.PushActions{
			Notify: &config.NotifyTemplate{Title: "Your resume was viewed", Body: "{{.company}} viewed your resume"},
			SMS: &config.SMSTemplates{Aliyun: &config.AliyunTemplate{
				Template: "SMS_10001", Params: map[string]string{"company": "{{.company}}"},
			}},
			WeChat: &config.WeChatTemplate{Template: "TPL1", Data: map[string]string{"thing1": "{{.company}}"}},
		},
	}}
	return c
}

// run starts a pusher that ends with the test, or by calling stop.
func (s *system) run() (p *assemble.Pusher, stop func()) {
	s.t.Helper()
	return s.runAs(s.cfg, zerolog.Nop())
}

// runOn is run by another configuration.
func (s *system) runOn(c *config.Config) (p *assemble.Pusher, stop func()) {
	s.t.Helper()
	return s.runAs(c, zerolog.Nop())
}

// runAs is run by another configuration, with a log.
func (s *system) runAs(c *config.Config, log zerolog.Logger) (p *assemble.Pusher, stop func()) {
	s.t.Helper()
	if err := c.Check(); err != nil && !s.odd { // a lease that keeps the fence shut, say: nothing would ever be sent
		s.t.Fatal(err)
	}
	p, err := assemble.NewPusher(s.t.Context(), c, log, "test")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				s.t.Errorf("the pusher ended with: %v", err)
			}
		case <-time.After(soon):
			s.t.Error("the pusher never ended")
		}
	}
	s.t.Cleanup(stop)
	return p, stop
}

// but is the configuration with a change.
func (s *system) but(change func(*config.Config)) *config.Config {
	c := *s.cfg
	change(&c)
	return &c
}

// patient gives providers and leases the time that a busy machine needs.
func (s *system) patient() {
	s.cfg.Dedup.Lease = 12 * time.Second
	s.cfg.Channels.Notify.Timeout, s.cfg.Channels.SMS.Timeout, s.cfg.Channels.WeChat.Timeout = 5*time.Second, 5*time.Second, 5*time.Second
}

// faults sets what goes wrong at the providers.
func (s *system) faults(list ...provider.Fault) {
	s.t.Helper()
	if err := s.sandbox.SetFaults(list); err != nil {
		s.t.Fatal(err)
	}
}

// accepted checks that the providers accepted n sends, none of them twice.
func (s *system) accepted(n int) {
	s.t.Helper()
	if got, twice := s.sandbox.Journal().Total(""), s.sandbox.Journal().Twice(); got != n || len(twice) > 0 {
		s.t.Errorf("%d accepted sends, twice %v; want %d once each", got, twice, n)
	}
}

// sentInTheEnd waits until n rows are sent, with the compensator at work: what had to wait for too long was given back.
func (s *system) sentInTheEnd(n int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d rows sent", n), func() bool {
		s.pass()
		return s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == n
	})
}

// caughtUp waits until everything is committed.
func (s *system) caughtUp() {
	s.t.Helper()
	s.eventually("lag 0", func() bool { return s.lag() == 0 })
}

// event is a full event for all channels.
func event(id int, more string) string {
	return fmt.Sprintf(`{"biz_type":"resume_viewed","biz_id":%d,"event_id":"e%d",%s"params":{"company":"ACME"},`+
		`"recipient":{"user_id":"u%d","phone":"138%08d","openid":"oOPENID%020d"}}`, id, id, more, id, id, id)
}

// write writes values to the producers' topic, each keyed by its number.
func (s *system) write(values ...string) {
	s.t.Helper()
	records := make([]push.Record, len(values))
	for i, v := range values {
		records[i] = push.Record{Origin: push.Origin{Topic: s.cfg.Kafka.Topic}, Key: []byte(strconv.Itoa(i)), Value: []byte(v)}
	}
	if err := s.written.Publish(s.t.Context(), records); err != nil {
		s.t.Fatal(err)
	}
}

// pass runs one pass of the compensator.
func (s *system) pass() compensate.Summary {
	s.t.Helper()
	sum, err := s.passAs(s.cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	return sum
}

// passAs runs a pass by another configuration, which may fail.
func (s *system) passAs(c *config.Config) (compensate.Summary, error) {
	s.t.Helper()
	return assemble.Pass(s.t.Context(), c, false, nil)
}

// eventually polls until cond holds.
func (s *system) eventually(what string, cond func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(soon); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s; the log says %v", what, s.statuses())
		}
	}
}

// statuses counts the rows by action and status.
func (s *system) statuses() map[string]int {
	s.t.Helper()
	rows, err := s.db.Query(context.Background(), `SELECT action || ' ' || status, count(*) FROM push_log GROUP BY 1`)
	if err != nil {
		s.t.Fatal(err)
	}
	counts := map[string]int{}
	for rows.Next() {
		var what string
		var n int
		if err := rows.Scan(&what, &n); err != nil {
			s.t.Fatal(err)
		}
		counts[what] = n
	}
	return counts
}

// number asks the database for one number.
func (s *system) number(sql string, args ...any) int {
	s.t.Helper()
	var n int
	if err := s.db.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// settled waits until n rows have this status.
func (s *system) settled(n int, status push.Status) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d rows %s", n, status), func() bool {
		return s.number(`SELECT count(*) FROM push_log WHERE status = $1`, string(status)) == n
	})
}

// lag is how far the group's commits are behind the ends of both topics; -1 while Kafka does not say.
func (s *system) lag() int64 {
	s.t.Helper()
	var lag int64
	for _, topic := range []string{s.cfg.Kafka.Topic, s.cfg.Kafka.RetryTopic} {
		ends := s.ends(topic)
		if len(ends) == 0 {
			return -1
		}
		for partition, end := range ends {
			committed, known := s.committed(topic, partition)
			if !known {
				return -1
			}
			lag += end - committed
		}
	}
	return lag
}

// ends is the end of each partition; empty while Kafka does not say.
func (s *system) ends(topic string) map[int]int64 {
	s.t.Helper()
	meta, err := s.kafka.Metadata(s.t.Context(), &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil || len(meta.Topics) == 0 || meta.Topics[0].Error != nil {
		return nil
	}
	var ask []kafka.OffsetRequest
	for _, p := range meta.Topics[0].Partitions {
		ask = append(ask, kafka.LastOffsetOf(p.ID))
	}
	answer, err := s.kafka.ListOffsets(s.t.Context(), &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: ask}})
	if err != nil {
		return nil
	}
	ends := map[int]int64{}
	for _, p := range answer.Topics[topic] {
		if p.Error != nil {
			return nil
		}
		ends[p.Partition] = p.LastOffset
	}
	return ends
}

// committed is the group's offset of a partition, 0 while there is none; known is false while Kafka does not say.
func (s *system) committed(topic string, partition int) (offset int64, known bool) {
	s.t.Helper()
	answer, err := s.kafka.OffsetFetch(s.t.Context(), &kafka.OffsetFetchRequest{
		GroupID: s.cfg.Kafka.Group, Topics: map[string][]int{topic: {partition}},
	})
	if err != nil || answer.Error != nil || len(answer.Topics[topic]) != 1 || answer.Topics[topic][0].Error != nil {
		return 0, false
	}
	return max(answer.Topics[topic][0].CommittedOffset, 0), true
}

// deadLetters reads the whole dead-letter topic, n records of it.
func (s *system) deadLetters(n int) []kafka.Message {
	s.t.Helper()
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: s.cfg.Kafka.Brokers, Topic: s.cfg.Kafka.DeadLetterTopic, MaxBytes: 4 << 20, MaxWait: 100 * time.Millisecond})
	defer func() { _ = reader.Close() }()
	ctx, cancel := context.WithTimeout(s.t.Context(), soon)
	defer cancel()
	letters := make([]kafka.Message, 0, n)
	for range n {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			s.t.Fatalf("after %d of %d dead letters: %v", len(letters), n, err)
		}
		letters = append(letters, m)
	}
	return letters
}

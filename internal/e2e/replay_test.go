package e2e

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// TestReplaySendsNothing: FLUSHALL, the group's offsets deleted, and everything is read again, retry messages included:
// what was sent at once or later, given up, skipped and held in doubt. Nothing is sent, and no row changes.
func TestReplaySendsNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	s.patient()
	own := testbed.OwnRedis(t)
	s.cfg.Redis.Addrs, s.cfg.Redis.DB = []string{own.Addr}, 0
	s.cfg.Channels.SMS.AskFor = time.Hour
	byID := func(id int, kind provider.Kind, code string, each int) provider.Fault {
		return provider.Fault{Provider: provider.Aliyun, Recipient: recipientOf(provider.Aliyun, id), Kind: kind, Code: code, Each: each}
	}
	s.faults(
		byID(0, provider.Refuse, "isv.MOBILE_NUMBER_ILLEGAL", 0),
		byID(1, provider.Refuse, "isp.SYSTEM_ERROR", 1),
		byID(2, provider.Reset, "", 0),
		provider.Fault{Provider: provider.WeChat, Recipient: recipientOf(provider.WeChat, 3), Kind: provider.AcceptThenReset, Each: 1},
	)
	_, stop := s.run()
	const n = 30
	for i := range n {
		s.write(event(i, ""))
	}
	s.write(`{"biz_type":"resume_viewed","biz_id":"nobody","params":{"company":"ACME"},"recipient":{"user_id":"u1"}}`)
	s.eventually("each at its end", func() bool {
		s.pass()
		got := s.statuses()
		return got["notify sent"] == n+1 && got["wechat sent"] == n && got["sms sent"] == n-2 && got["sms dead"] == 1 &&
			got["sms unknown"] == 1 && got["sms skipped"] == 1 && got["wechat skipped"] == 1
	})
	s.caughtUp()
	stop()
	state := func() (rows, attempts, inbox, requests int) {
		return s.number(`SELECT hashtext(string_agg(concat_ws(' ', id, status, attempt, round, retries_used, owner, settled_at), ',' ORDER BY id)) FROM push_log`),
			s.number(`SELECT count(*) FROM push_attempt`), s.number(`SELECT count(*) FROM inbox_message`),
			s.sandbox.Requests(provider.Aliyun, provider.CallSend) + s.sandbox.Requests(provider.WeChat, provider.CallSend)
	}
	rows, attempts, inbox, requests := state()

	client := redis.NewClient(&redis.Options{Addr: own.Addr})
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	s.deleteGroup()
	p, _ := s.run()
	s.caughtUp()
	if got := p.Stopped().Row; got < 3*n {
		t.Errorf("%d duplicates stopped by their rows, want each of %d at least", got, 3*n)
	}
	for range 2 {
		s.pass()
	}
	s.caughtUp()
	rowsNow, attemptsNow, inboxNow, requestsNow := state()
	if rowsNow != rows || attemptsNow != attempts || inboxNow != inbox || requestsNow != requests {
		t.Errorf("the replay changed something: rows %v, %d attempts of %d, %d in-app messages of %d, %d requests of %d",
			rowsNow == rows, attemptsNow, attempts, inboxNow, inbox, requestsNow, requests)
	}
	s.settled(1, push.Unknown)
}

// deleteGroup makes Kafka forget all that the group has committed.
func (s *system) deleteGroup() {
	s.t.Helper()
	s.eventually("the group is deleted", func() bool {
		answer, err := s.kafka.DeleteGroups(s.t.Context(), &kafka.DeleteGroupsRequest{GroupIDs: []string{s.cfg.Kafka.Group}})
		return err == nil && answer.Errors[s.cfg.Kafka.Group] == nil
	})
	if s.lag() == 0 {
		s.t.Fatal("the group still has its offsets")
	}
}

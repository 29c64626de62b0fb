package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// TestWatchdogKeepsALongSend: a send longer than half the lease is renewed, key and row; the same record at another
// instance meets a running lease, and nothing is sent twice.
func TestWatchdogKeepsALongSend(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.cfg.Dedup.Lease, s.cfg.Channels.SMS.Timeout, s.odd = 8*time.Second, 6*time.Second, true // so that a renewal is certain
	s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(5 * time.Second)})
	_, stop := s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.eventually("it is out", func() bool { return s.sandbox.Requests(provider.Aliyun, provider.CallSend) == 1 })
	s.eventually("the row is renewed", func() bool {
		return s.number(`SELECT count(*) FROM push_log WHERE lease_until > intent_at + interval '9 s'`) == 1
	})
	s.write(event(1, `"actions":["sms"],`)) // a duplicate, while the first is out
	s.settled(1, push.Sent)
	s.caughtUp()
	stop()
	s.accepted(1)
}

// TestLostOwnerRecordsOnlyAnAcceptance: while a request is out, the row becomes another's. An acceptance is written all
// the same; that it failed or may have arrived is not.
func TestLostOwnerRecordsOnlyAnAcceptance(t *testing.T) {
	t.Parallel()
	const takeOver = `UPDATE push_log SET owner = 'another', attempt = attempt + 1, lease_until = now() + interval '1 hour'`
	late := provider.Duration(2 * time.Second)
	for name, c := range map[string]struct {
		fault provider.Fault
		want  push.Status
	}{
		"accepted":  {provider.Fault{Kind: provider.Latency, Delay: late}, push.Sent},
		"ambiguous": {provider.Fault{Kind: provider.Stall, Delay: late}, push.Sending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			s.cfg.Channels.SMS.Timeout, s.cfg.Dedup.Lease = 5*time.Second, 20*time.Second
			s.faults(c.fault)
			_, stop := s.run()
			s.write(event(1, `"actions":["sms"],`))
			s.eventually("it is out", func() bool { return s.sandbox.Requests(provider.Aliyun, provider.CallSend) == 1 })
			if _, err := s.db.Exec(t.Context(), takeOver); err != nil {
				t.Fatal(err)
			}
			stop() // waits for what is out
			if got := s.number(`SELECT count(*) FROM push_log WHERE status = $1`, string(c.want)); got != 1 {
				t.Errorf("the log says %v, want %s", s.statuses(), c.want)
			}
			if got := s.number(`SELECT count(*) FROM push_log WHERE attempt = 2 AND owner = 'another'`); got != 1 {
				t.Error("the lost owner changed whose the row is")
			}
		})
	}
}

// TestFieldReport20_ClaimsUnderLoadHaveAnEnd: every key has a TTL, at every moment.
func TestFieldReport20_ClaimsUnderLoadHaveAnEnd(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	s.patient()
	s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(50 * time.Millisecond)})
	s.run()
	s.run()
	const n = 100
	var values []string
	for i := range n {
		values = append(values, event(i, ""))
	}
	s.write(values...)
	client := redis.NewClient(&redis.Options{Addr: s.cfg.Redis.Addrs[0], DB: s.cfg.Redis.DB})
	defer func() { _ = client.Close() }()
	looked := 0
	s.eventually("all tried", func() bool {
		looked += endless(t, client)
		return s.number(`SELECT count(*) FROM push_log WHERE status IN ('sent', 'failed')`) == 3*n
	})
	s.sentInTheEnd(3 * n)
	looked += endless(t, client)
	if looked < 3*n {
		t.Errorf("only %d keys were looked at", looked)
	}
	s.accepted(2 * n)
}

// endless looks at all keys and complains about those without an end.
func endless(t *testing.T, client *redis.Client) (looked int) {
	t.Helper()
	keys := client.Scan(context.Background(), 0, "push:*", 1000).Iterator()
	for keys.Next(context.Background()) {
		looked++
		// -2: it ended in between; -1: it never will.
		if ttl := client.PTTL(context.Background(), keys.Val()).Val(); ttl == -1 {
			t.Errorf("%s has no TTL", keys.Val())
		}
	}
	if err := keys.Err(); err != nil {
		t.Fatal(err)
	}
	return looked
}

// TestRebalancesUnderLoad: instances join and leave while there is work; each delivery goes out once.
func TestRebalancesUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 6)
	s.patient()
	s.cfg.Worker.InFlight = 4
	s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(100 * time.Millisecond)})
	const n = 300
	var values []string
	for i := range n {
		values = append(values, event(i, `"actions":["sms"],`))
	}
	s.write(values...)
	_, first := s.run()
	progress := func(share int) {
		t.Helper()
		s.eventually("progress", func() bool { s.pass(); return s.sandbox.Journal().Total("") >= n*share/10 })
	}
	progress(1)
	_, second := s.run()
	progress(3)
	first()
	_, third := s.run()
	progress(5)
	second()
	s.run()
	progress(7)
	third()
	s.sentInTheEnd(n)
	s.caughtUp()
	s.accepted(n)
	if got := s.number(`SELECT count(*) FROM push_log WHERE status = 'sending'`); got != 0 {
		t.Errorf("%d rows are left sending", got)
	}
}

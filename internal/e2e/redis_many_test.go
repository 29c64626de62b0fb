package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/config"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// TestSentinelFailoverUnderLoad: the master is killed while two instances work. The replica takes over, perhaps without
// the last writes; nothing is lost or sent twice, and all goes on without a restart.
func TestSentinelFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		many := testbed.RedisSentinel(t, 2, 3)
		s := onRedis(t, 4, mode, "")
		s.cfg.Redis.Mode, s.cfg.Redis.Master, s.cfg.Redis.Addrs = config.ModeSentinel, many.Name, many.Addrs
		s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(100 * time.Millisecond)})
		s.cfg.Worker.InFlight = 8
		s.run()
		s.run()
		s.events(0, 50)
		s.eventually("work has begun", func() bool { return s.sandbox.Journal().Total("") > 10 })
		began := many.Master(t)
		began.Kill()
		s.events(25, 100)
		s.sentInTheEnd(300)
		s.eventually("another master", func() bool { return many.Master(t) != began })
		began.Start() // comes back as a replica
		s.events(75, 120)
		s.sentInTheEnd(360)
		s.caughtUp()
		s.accepted(240)
	})
}

// TestClusterNodeDownUnderLoad: the whole way of a delivery on a cluster of three masters; one is killed while two
// instances work, and comes back.
func TestClusterNodeDownUnderLoad(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		nodes := testbed.RedisCluster(t, 3)
		s := onRedis(t, 4, mode, "")
		s.cfg.Redis.Mode, s.cfg.Redis.Addrs = config.ModeCluster, []string{nodes[0].Addr, nodes[1].Addr}
		s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(100 * time.Millisecond)})
		s.cfg.Worker.InFlight = 8
		p, _ := s.run()
		q, _ := s.run()
		s.events(0, 50)
		s.sentInTheEnd(150)
		s.events(0, 50)
		s.eventually("duplicates stopped", func() bool { return p.Stopped().Redis+q.Stopped().Redis >= 150 })
		for _, n := range nodes {
			client := redis.NewClient(&redis.Options{Addr: n.Addr})
			if size := client.DBSize(t.Context()).Val(); size < 10 {
				t.Errorf("%d keys on %s: they are not spread", size, n.Addr)
			}
			_ = client.Close()
		}
		s.events(50, 80)
		nodes[2].Kill()
		s.events(60, 100)
		if mode == config.Pause {
			s.eventually("the other nodes' deliveries go on", func() bool {
				s.pass()
				return s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) > 200
			})
			nodes[2].Start()
		}
		s.sentInTheEnd(300)
		nodes[2].Start()
		s.events(90, 120)
		s.sentInTheEnd(360)
		s.caughtUp()
		s.accepted(240)
	})
}

// TestCompensatorRepairsKeys: keys that Redis lost, keys of before a failover, and keys that say what is not so. After a
// pass Redis stops by itself what comes again, and no retry is discarded.
func TestCompensatorRepairsKeys(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedis(t)
	s := onRedis(t, 2, config.Pause, own.Addr)
	p, _ := s.run()
	s.events(0, 40)
	s.sentInTheEnd(120)
	s.caughtUp()
	client := redis.NewClient(&redis.Options{Addr: own.Addr})
	defer func() { _ = client.Close() }()
	client.FlushAll(t.Context())
	if err := client.HSet(t.Context(), "push:dedup:resume_viewed:1:sms", "s", 2, "a", 7, "t", 1).Err(); err != nil {
		t.Fatal(err)
	}
	client.Expire(t.Context(), "push:dedup:resume_viewed:1:sms", time.Hour)
	if sum := s.pass(); sum.KeysChecked != 120 || sum.KeysRepaired != 120 || sum.Redis != "" {
		t.Errorf("summary %+v, want 120 keys checked and repaired", sum)
	}
	if sum := s.pass(); sum.KeysChecked != 120 || sum.KeysRepaired != 0 {
		t.Errorf("summary %+v, want nothing left to repair", sum)
	}
	before := p.Stopped()
	s.events(0, 40)
	s.eventually("duplicates stopped by Redis", func() bool { return p.Stopped().Redis-before.Redis >= 120 })
	if after := p.Stopped(); after.Row != before.Row {
		t.Errorf("%d duplicates came as far as the row", after.Row-before.Row)
	}
	s.accepted(80)
}

// TestAKeyThatWouldDiscardTheRetryIsRepaired: a key ahead of its row, as a log restored from a backup leaves it.
func TestAKeyThatWouldDiscardTheRetryIsRepaired(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedis(t)
	s := onRedis(t, 1, config.Pause, own.Addr)
	s.faults(provider.Fault{Each: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.eventually("refused", func() bool { return s.statuses()["sms failed"] == 1 })
	client := redis.NewClient(&redis.Options{Addr: own.Addr})
	defer func() { _ = client.Close() }()
	if err := client.HSet(t.Context(), "push:dedup:resume_viewed:1:sms", "a", 9).Err(); err != nil {
		t.Fatal(err)
	}
	s.sentInTheEnd(1)
	s.accepted(1)
}

// TestAPassWithoutRedis completes: a key only saves work.
func TestAPassWithoutRedis(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedis(t)
	s := onRedis(t, 1, config.Pause, own.Addr)
	s.faults(provider.Fault{Each: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	_, stop := s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.eventually("refused", func() bool { return s.statuses()["sms failed"] == 1 })
	stop()
	own.Stop()
	began := time.Now()
	s.eventually("re-queued", func() bool {
		sum := s.pass()
		if !strings.HasPrefix(sum.Redis, "away: ") {
			t.Fatalf("summary %+v, want that redis is away", sum)
		}
		return sum.Requeued == 1
	})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// modes are what arbitrates while Redis is away.
func modes() []string { return []string{config.Pause, config.ByTheRow} }

// eachMode runs a test in both.
func eachMode(t *testing.T, test func(t *testing.T, mode string)) {
	t.Helper()
	for _, mode := range modes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			test(t, mode)
		})
	}
}

// onRedis is a system on a Redis of the test's own.
func onRedis(t *testing.T, partitions int, mode, addr string) *system {
	t.Helper()
	s := newSystem(t, partitions)
	s.patient()
	s.cfg.Redis.Addrs, s.cfg.Redis.DB, s.cfg.Redis.Timeout = []string{addr}, 0, 500*time.Millisecond
	s.cfg.Dedup.OnRedisDown = mode
	return s
}

// events writes full events numbered from, up to below to.
func (s *system) events(from, to int) {
	s.t.Helper()
	var values []string
	for i := from; i < to; i++ {
		values = append(values, event(i, ""))
	}
	s.write(values...)
}

// paused checks for a while that nothing more is claimed, sent or committed than n events.
func (s *system) paused(addr string, n int) {
	s.t.Helper()
	lag := s.lag()
	s.eventually("redis is told of", func() bool {
		ok, body := s.ready(addr)
		return !ok && strings.Contains(body, `"redis":{"status":"unavailable"`)
	})
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if rows := s.number(`SELECT count(*) FROM push_log`); rows != 3*n {
			s.t.Fatalf("%d rows without a claim, want %d", rows, 3*n)
		}
	}
	if got := s.sandbox.Journal().Total(""); got != 2*n {
		s.t.Errorf("%d accepted while redis is away, want %d", got, 2*n)
	}
	if got := s.lag(); got < lag {
		s.t.Errorf("the lag went from %d to %d: committed without a row", lag, got)
	}
}

// TestRedisAwayPauses: nothing is sent unclaimed and nothing is committed; all goes on at once when Redis is back.
func TestRedisAwayPauses(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedis(t)
	s := onRedis(t, 2, config.Pause, own.Addr)
	p, _ := s.run()
	s.events(0, 20)
	s.sentInTheEnd(60)
	s.caughtUp()
	own.Stop()
	s.events(20, 40)
	s.paused(p.Addr(), 20)
	own.Start()
	back := time.Now()
	s.sentInTheEnd(120)
	if took := time.Since(back); took > 20*time.Second {
		t.Errorf("recovery took %v", took)
	}
	s.caughtUp()
	s.accepted(80)
}

// TestRedisAwayGoesOn: with on_redis_down: postgres everything is sent, each once, duplicates included; it is told once
// and seen on /readyz and /metrics. A pusher that starts meanwhile does its work too.
func TestRedisAwayGoesOn(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedis(t)
	s := onRedis(t, 2, config.ByTheRow, own.Addr)
	var log testbed.Log
	p, stop := s.runAs(s.cfg, zerolog.New(&log))
	s.events(0, 20)
	s.sentInTheEnd(60)
	own.Stop()
	s.events(10, 40)
	s.sentInTheEnd(120)
	s.caughtUp()
	if got := metric(t, p.Addr(), "pusher_without_redis"); got != 1 {
		t.Errorf("pusher_without_redis is %v, want 1", got)
	}
	if code, body := get(t, "http://"+p.Addr()+"/readyz"); code != http.StatusOK || !strings.Contains(body, `"redis":{"status":"unavailable"`) {
		t.Errorf("/readyz says %d %s, want ready without redis", code, body)
	}
	stop()
	p, _ = s.runAs(s.cfg, zerolog.New(&log))
	s.events(30, 60)
	s.sentInTheEnd(180)
	own.Start()
	for i := 60; metric(t, p.Addr(), "pusher_without_redis") != 0; i++ { // a claim asks whether it is back
		s.events(i, i+1)
		time.Sleep(200 * time.Millisecond)
		if i > 150 {
			t.Fatal("redis is back, and nobody noticed")
		}
	}
	s.caughtUp()
	if n := strings.Count(log.String(), "redis does not answer: the push log alone arbitrates"); n < 1 || n > 3 {
		t.Errorf("told %d times:\n%s", n, log.String())
	}
	if twice := s.sandbox.Journal().Twice(); len(twice) > 0 {
		t.Errorf("sent twice: %v", twice)
	}
}

// TestRedisForgetsUnderLoad: FLUSHALL, SCRIPT FLUSH, a restart with nothing left, and seconds without Redis, while two
// instances work on events that come twice.
func TestRedisForgetsUnderLoad(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		own := testbed.OwnRedisWith(t, "--appendonly", "no")
		s := onRedis(t, 4, mode, own.Addr)
		s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(100 * time.Millisecond)})
		s.cfg.Worker.InFlight = 8
		s.run()
		s.run()
		client := redis.NewClient(&redis.Options{Addr: own.Addr, MaxRetries: -1})
		defer func() { _ = client.Close() }()
		const n = 100
		for i := range 10 {
			s.events(10*i, 10*i+10)
			switch i % 5 {
			case 0, 2:
				client.FlushAll(t.Context())
			case 1:
				client.ScriptFlush(t.Context())
			case 3:
				own.Kill()
				own.Start()
			case 4:
				own.Stop()
				s.events(10*i-5, 10*i+10)
				time.Sleep(2 * time.Second) // how long it is away
				own.Start()
			}
			s.events(max(0, 10*i-20), 10*i+10)
		}
		s.sentInTheEnd(3 * n)
		s.caughtUp()
		s.accepted(2 * n)
		if got := s.number(`SELECT count(*) FROM push_log`); got != 3*n {
			t.Errorf("%d rows, want %d", got, 3*n)
		}
	})
}

// TestFieldReport16_RestartEmptyLosesNothing: what was sent is stopped by the row, what is new is delivered.
func TestFieldReport16_RestartEmptyLosesNothing(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedisWith(t, "--appendonly", "no")
	s := onRedis(t, 2, config.Pause, own.Addr)
	p, _ := s.run()
	s.events(0, 20)
	s.sentInTheEnd(60)
	own.Kill()
	own.Start()
	s.events(0, 30)
	s.sentInTheEnd(90)
	s.caughtUp()
	s.accepted(60)
	if got := p.Stopped().Row; got < 60 {
		t.Errorf("%d duplicates stopped by the row, want at least 60", got)
	}
}

// TestFieldReport17_DemotedMaster: behind one address first a replica stands and then the new master; no connection is
// cut, and the old master refuses to write.
func TestFieldReport17_DemotedMaster(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		master, next, other := testbed.OwnRedisWith(t), testbed.OwnRedisWith(t), testbed.OwnRedisWith(t)
		next.Replicate(master.Addr)
		other.Replicate(master.Addr)
		front := newLine(t, master.Addr)
		s := onRedis(t, 2, mode, front.addr())
		s.run()
		s.events(0, 20)
		s.sentInTheEnd(60)
		s.caughtUp()
		front.toward(other.Addr)
		next.Replicate("")
		master.Replicate(next.Addr)
		other.Replicate(next.Addr)
		s.events(20, 40)
		if mode == config.Pause {
			s.unclaimed(20)
		} else {
			s.sentInTheEnd(120)
		}
		front.toward(next.Addr)
		back := time.Now()
		s.events(40, 50)
		s.sentInTheEnd(150)
		if got := s.number(`SELECT count(*) FROM push_log WHERE created_at > $1::timestamptz + interval '10 s'`, back); got != 0 {
			t.Errorf("%d deliveries were claimed later than 10 s after the new master was there", got)
		}
		s.caughtUp()
		s.accepted(100)
	})
}

// unclaimed checks for a while that nothing more than n events is sent.
func (s *system) unclaimed(n int) {
	s.t.Helper()
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if rows := s.number(`SELECT count(*) FROM push_log`); rows != 3*n {
			s.t.Fatalf("%d rows without a claim, want %d", rows, 3*n)
		}
	}
	if s.lag() == 0 {
		s.t.Error("events without a claim are committed")
	}
	s.accepted(2 * n)
}

// settledBy waits until n rows are sent, with the compensator at work, at most until a time.
func (s *system) settledBy(n int, until time.Time) {
	s.t.Helper()
	s.sentInTheEnd(n)
	if late := time.Since(until); late > 0 {
		s.t.Errorf("%d rows sent %v too late", n, late)
	}
}

// toward makes new connections go to another server; those that are open stay.
func (l *line) toward(upstream string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.upstream = upstream
}

// TestFieldReport18_KeyGoneDuringTheSend: while a request is out its key is deleted and the event comes again, at the
// other instance too.
func TestFieldReport18_KeyGoneDuringTheSend(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		own := testbed.OwnRedis(t)
		s := onRedis(t, 4, mode, own.Addr)
		s.faults(provider.Fault{Kind: provider.Latency, Delay: provider.Duration(4 * time.Second)})
		s.run()
		s.run()
		sms := event(1, `"actions":["sms"],`)
		s.write(sms)
		s.eventually("it is out", func() bool { return s.sandbox.Requests(provider.Aliyun, provider.CallSend) == 1 })
		client := redis.NewClient(&redis.Options{Addr: own.Addr})
		defer func() { _ = client.Close() }()
		for range 3 {
			if err := client.Del(t.Context(), "push:dedup:resume_viewed:1:sms").Err(); err != nil {
				t.Fatal(err)
			}
			s.write(sms, sms, sms, sms, sms, sms) // of different keys, so for both instances
			time.Sleep(500 * time.Millisecond)
		}
		s.settled(1, push.Sent)
		s.caughtUp()
		s.accepted(1)
		if got := s.sandbox.Requests(provider.Aliyun, provider.CallSend); got != 1 {
			t.Errorf("%d requests, want 1", got)
		}
	})
}

// TestFieldReport19_EvictedKeysSendNothing: a Redis that throws dedup keys away. It is told of at the start, and the log
// stops what comes again.
func TestFieldReport19_EvictedKeysSendNothing(t *testing.T) {
	t.Parallel()
	own := testbed.OwnRedisWith(t, "--maxmemory", "8mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
	s := onRedis(t, 2, config.Pause, own.Addr)
	var log testbed.Log
	p, _ := s.runAs(s.cfg, zerolog.New(&log))
	s.events(0, 100)
	s.sentInTheEnd(300)
	client := redis.NewClient(&redis.Options{Addr: own.Addr})
	defer func() { _ = client.Close() }()
	padding := strings.Repeat("x", 10<<10)
	for i := 0; client.Exists(t.Context(), "push:dedup:resume_viewed:1:sms").Val() != 0; i++ {
		if err := client.Set(t.Context(), fmt.Sprint("padding", i), padding, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.events(0, 100)
	s.caughtUp()
	s.accepted(200)
	if p.Stopped().Row == 0 {
		t.Error("no key was evicted: nothing is proved")
	}
	if !strings.Contains(log.String(), "maxmemory-policy is allkeys-lru") {
		t.Errorf("the log does not warn:\n%s", log.String())
	}
}

// TestFieldReport19_FullRedis: it refuses every claim for want of memory. Nothing is sent, committed or given up; memory
// freed, all is delivered. With postgres the log alone arbitrates meanwhile.
func TestFieldReport19_FullRedis(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, mode string) {
		own := testbed.OwnRedisWith(t, "--appendonly", "no")
		s := onRedis(t, 2, mode, own.Addr)
		s.run()
		s.events(0, 10)
		s.sentInTheEnd(30)
		s.caughtUp()
		client := redis.NewClient(&redis.Options{Addr: own.Addr})
		defer func() { _ = client.Close() }()
		if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
		s.events(10, 30)
		if mode == config.Pause {
			s.unclaimed(10)
		} else {
			s.sentInTheEnd(90)
		}
		if err := client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
			t.Fatal(err)
		}
		s.sentInTheEnd(90)
		s.caughtUp()
		s.accepted(60)
		if got := s.number(`SELECT count(*) FROM push_log WHERE status <> 'sent'`); got != 0 {
			t.Errorf("%d rows are not sent", got)
		}
	})
}

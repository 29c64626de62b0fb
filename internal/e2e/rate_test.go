package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/assemble"
	"pusher/internal/config"
	"pusher/internal/sandbox/provider"
	"pusher/internal/testbed"
)

// accepts lists when the providers accepted, in order.
func (s *system) accepts() []time.Time {
	var times []time.Time
	for _, e := range s.sandbox.Journal().Entries() {
		times = append(times, e.Time)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

// worstSecond is the most that any second saw, wherever it begins.
func worstSecond(times []time.Time) int {
	most, first := 0, 0
	for i, at := range times {
		for !times[first].After(at.Add(-time.Second)) {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// within counts the times of a stretch.
func within(times []time.Time, from time.Time, lasts time.Duration) int {
	n := 0
	for _, at := range times {
		if !at.Before(from) && at.Before(from.Add(lasts)) {
			n++
		}
	}
	return n
}

// stalls watches how long this process, the providers in it, was not let run: what a busy machine takes is no fault of
// the rate.
type stalls struct {
	mu      sync.Mutex
	sum     time.Duration // guarded by mu
	longest time.Duration // guarded by mu
}

// watch watches until the test ends.
func (w *stalls) watch(t *testing.T) {
	t.Helper()
	const step = 10 * time.Millisecond
	var all sync.WaitGroup
	tick, done := time.NewTicker(step), make(chan struct{})
	last := time.Now()
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			now := time.Now()
			if late := now.Sub(last) - 2*step; late > 0 {
				w.mu.Lock()
				w.sum, w.longest = w.sum+late, max(w.longest, late)
				w.mu.Unlock()
			}
			last = now
		}
	})
	t.Cleanup(func() { tick.Stop(); close(done); all.Wait() })
}

func (w *stalls) seen() (sum, longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sum, w.longest
}

// rated makes a system whose SMS go by a rate, with room for all that a test writes to wait for their turns.
func rated(t *testing.T, perSecond float64) *system {
	t.Helper()
	s := newSystem(t, 6)
	s.patient()
	s.cfg.Dedup.Lease = 2 * time.Minute
	s.cfg.Worker.InFlight, s.cfg.Worker.Waiting = 8192, 32768
	s.cfg.Channels.SMS.Aliyun.Rate = perSecond
	return s
}

// fleet starts n pushers, each of which has its part of the partitions.
func (s *system) fleet(n int) []*assemble.Pusher {
	s.t.Helper()
	var list []*assemble.Pusher
	for range n {
		p, _ := s.run()
		list = append(list, p)
	}
	s.eventually("each has its partitions", func() bool {
		sum := 0
		for _, p := range list {
			_, page := get(s.t, "http://"+p.Addr()+"/metrics")
			mine := strings.Count(page, "\npusher_watermark_offset{")
			if mine == 0 {
				return false
			}
			sum += mine
		}
		return sum == 2*6
	})
	return list
}

// slowest is a bound of what the slowest request took, 0 below 50 ms: what is held up on its way arrives with those that
// left after it, and a second at the provider sees both.
func (s *system) slowest(fleet []*assemble.Pusher) time.Duration {
	s.t.Helper()
	late := 50 * time.Millisecond
	for _, p := range fleet {
		name := `pusher_attempt_duration_seconds_%s{action="sms",provider="aliyun"%s}`
		all := metric(s.t, p.Addr(), fmt.Sprintf(name, "count", ""))
		for _, bound := range []string{"0.05", "0.1", "0.25", "0.5", "1", "2.5", "5"} {
			upper, _ := time.ParseDuration(bound + "s")
			if metric(s.t, p.Addr(), fmt.Sprintf(name, "bucket", `,le="`+bound+`"`)) >= all {
				late = max(late, upper)
				break
			}
		}
	}
	return late - 50*time.Millisecond
}

// short writes n events that are SMS only.
func (s *system) short(from, n int) {
	s.t.Helper()
	values := make([]string, n)
	for i := range values {
		values[i] = event(from+i, `"actions":["sms"],`)
	}
	s.write(values...)
}

// TestThreeInstancesShareARate: at 100 a second over all, the providers see 95 to 100 a second, no second more than 110,
// and every message once.
func TestThreeInstancesShareARate(t *testing.T) {
	t.Parallel()
	const perSecond = 100
	seconds := 8
	if os.Getenv(longVariable) != "" {
		seconds = 30
	}
	s, busy := rated(t, perSecond), new(stalls)
	n := perSecond * (seconds + 3)
	fleet := s.fleet(3)
	busy.watch(t)
	s.short(0, n)
	s.settled(n, "sent")
	s.accepted(n)
	times := s.accepts()
	from, lasts := times[0].Add(time.Second), time.Duration(seconds)*time.Second
	got, worst := float64(within(times, from, lasts))/float64(seconds), worstSecond(times)
	sum, longest := busy.seen()
	late := s.slowest(fleet)
	t.Logf("%.1f a second over %d s, %d in the worst second; the machine took %s, %s at once; the slowest request %s", got, seconds, worst, sum, longest, late)
	if got > perSecond+1 || got < 0.95*perSecond*(1-sum.Seconds()/float64(seconds)) {
		t.Errorf("%.1f a second over %d s", got, seconds)
	}
	if most := 1.1*perSecond + perSecond*(longest+late).Seconds(); float64(worst) > most {
		t.Errorf("%d in the worst second, want %.0f at most", worst, most)
	}
	waited := 0.0
	for _, p := range fleet { // a machine that stands still makes calls to Redis time out
		if shared := metric(t, p.Addr(), `pusher_provider_rate_shared{provider="aliyun"}`); shared != 1 && longest < 50*time.Millisecond && late == 0 {
			t.Errorf("the rate is shared: %v", shared)
		}
		waited += metric(t, p.Addr(), `pusher_rate_wait_seconds_count{provider="aliyun"}`)
	}
	if int(waited) != n {
		t.Errorf("%v waits are counted, want %d", waited, n)
	}
}

// TestTheRateIsKeptWithoutRedis: Redis dies under load and comes back; the instances keep the rate between them all the
// time, and the work goes on.
func TestTheRateIsKeptWithoutRedis(t *testing.T) {
	t.Parallel()
	const perSecond, n = 100, 1500
	s, busy := rated(t, perSecond), new(stalls)
	own := testbed.OwnRedis(t)
	s.cfg.Redis.Addrs, s.cfg.Redis.DB = []string{own.Addr}, 0
	s.cfg.Dedup.OnRedisDown = config.ByTheRow
	fleet := s.fleet(3)
	busy.watch(t)
	s.short(0, n)
	all := func(name string, want float64) func() bool {
		return func() bool {
			for _, p := range fleet {
				if metric(t, p.Addr(), "pusher_provider_"+name+`{provider="aliyun"}`) != want {
					return false
				}
			}
			return true
		}
	}
	s.eventually("all have heard of each other", all("rate_instances", 3))
	own.Kill()
	s.eventually("each keeps to its share", all("rate_shared", 0))
	away := len(s.accepts())
	s.eventually("the work goes on", func() bool { return len(s.accepts()) > away+perSecond })
	own.Start()
	s.eventually("the rate is shared again", all("rate_shared", 1))
	s.settled(n, "sent")
	s.accepted(n)
	_, longest := busy.seen()
	late := s.slowest(fleet)
	most := 1.15*perSecond + perSecond*(longest+late).Seconds()
	if late > 0 { // on such a machine calls to Redis time out, so that one instance may share while another does not
		most += perSecond / 3
	}
	if worst := worstSecond(s.accepts()); float64(worst) > most {
		t.Errorf("%d in the worst second, want %.0f at most", worst, most)
	}
}

// TestAStopOfTheAccountPausesItAndProbesItsWayBack: under load the account runs out of money. One line says so loudly, a
// metric shows it, nothing more than a few requests and probes are made, no attempt is burnt; when it is well again,
// everything arrives once.
func TestAStopOfTheAccountPausesItAndProbesItsWayBack(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 4)
	s.patient()
	s.cfg.Retry.MaxAttempts = 2 // one that was burnt would show
	s.cfg.Channels.ProbeAfter = 2 * time.Second
	log := new(testbed.Log)
	p, _ := s.runAs(s.cfg, zerolog.New(log))
	s.short(0, 100)
	s.settled(100, "sent")
	s.faults(provider.Fault{Kind: provider.Refuse, Code: "isv.AMOUNT_NOT_ENOUGH"})
	before := s.sandbox.Requests(provider.Aliyun, provider.CallSend)
	const n = 400
	s.short(100, n)
	s.eventually("all are kept back", func() bool { s.pass(); return s.statuses()["sms failed"]+s.statuses()["sms queued"] >= n-8 })
	if stops := metric(t, p.Addr(), `pusher_provider_stops{provider="aliyun",scope="account"}`); stops != 1 {
		t.Errorf("%v stops are shown", stops)
	}
	began := time.Now()
	s.eventually("it was probed", func() bool { s.pass(); return time.Since(began) > 3*s.cfg.Channels.ProbeAfter })
	asked := s.sandbox.Requests(provider.Aliyun, provider.CallSend) - before
	if asked < 3 || asked > 100 {
		t.Errorf("%d requests while the account is stopped, want those on their way and a few probes", asked)
	}
	if burnt := s.number(`SELECT count(*) FROM push_log WHERE retries_used > 0 OR status = 'dead'`); burnt > 0 {
		t.Errorf("%d deliveries pay for the account's stop", burnt)
	}
	if said := strings.Count(log.String(), "stopped until somebody acts"); said != 1 {
		t.Errorf("the stop is told of %d times", said)
	}
	s.faults()
	s.sentInTheEnd(n + 100)
	s.accepted(n + 100)
	if stops := metric(t, p.Addr(), `pusher_provider_stops{provider="aliyun",scope="account"}`); stops != 0 {
		t.Errorf("%v stops are shown when it is over", stops)
	}
}

// TestAnOutageOfTheProviderBurnsNoAttempts: the provider is away for many times the retry schedule. Its breaker opens,
// what is kept back uses no retry, and everything arrives once when it is back.
func TestAnOutageOfTheProviderBurnsNoAttempts(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 4)
	s.patient()
	s.cfg.Retry.MaxAttempts, s.cfg.Retry.Inline = 3, 0
	s.cfg.Channels.Breaker.Pause = time.Second
	heal := (&sick{}).serve(t, s, true)
	log := new(testbed.Log)
	p, _ := s.runAs(s.cfg, zerolog.New(log))
	const n = 300
	s.short(0, n)
	s.eventually("the breaker opens", func() bool {
		s.pass()
		return metric(t, p.Addr(), `pusher_provider_breaker_state{provider="aliyun"}`) > 0
	})
	began := time.Now()
	s.eventually("a long outage", func() bool { s.pass(); return time.Since(began) > 8*time.Second })
	if dead := s.number(`SELECT count(*) FROM push_log WHERE status = 'dead'`); dead > 0 {
		t.Errorf("%d deliveries died of the outage", dead)
	}
	heal()
	s.sentInTheEnd(n)
	s.accepted(n)
	if opened, closed := strings.Count(log.String(), "the provider fails"), strings.Count(log.String(), "the provider answers again"); opened != 1 || closed != 1 {
		t.Errorf("told %d and %d times, want once each", opened, closed)
	}
}

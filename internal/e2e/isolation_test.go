package e2e

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"pusher/internal/config"
)

// sick is a provider that answers as the sandbox does, once it is healed.
type sick struct {
	healed  atomic.Bool
	sandbox http.Handler
	fails   func(http.ResponseWriter, *http.Request)
}

func (s *sick) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.healed.Load() {
		s.sandbox.ServeHTTP(w, r)
		return
	}
	s.fails(w, r)
}

// hang takes the connection and never answers.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// trickle answers a byte at a time, without end.
func trickle(w http.ResponseWriter, r *http.Request) {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-tick.C:
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			tick.Stop()
			return
		}
	}
}

// serve stands in front of the sandbox as the SMS provider; refuse closes its port until it is healed.
func (s *sick) serve(t *testing.T, sys *system, refuse bool) (heal func()) {
	t.Helper()
	s.sandbox = sys.sandbox
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	sys.cfg.Channels.SMS.Aliyun.Endpoint = "http://" + addr
	server := httptest.NewUnstartedServer(s)
	_ = server.Listener.Close()
	if server.Listener = listener; refuse {
		_ = listener.Close()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return func() {
		if refuse {
			if server.Listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", addr); err != nil {
				t.Fatal(err)
			}
			server.Start()
		}
		s.healed.Store(true)
	}
}

// TestAnSMSProviderThatFailsHoldsBackSMSOnly: 1,000 SMS at a provider that hangs, trickles or refuses connections; beside
// them in-app and WeChat messages go out as if nothing were, and what the process holds stays bounded. When the provider
// is well again, all SMS arrive, each once.
func TestAnSMSProviderThatFailsHoldsBackSMSOnly(t *testing.T) { //nolint:paralleltest // it measures times
	const long = 4 * time.Second // for a message that has nothing to wait for, on a machine that has other work too; held back it takes the SMS timeouts
	for name, c := range map[string]struct {
		fails  func(http.ResponseWriter, *http.Request)
		refuse bool
	}{"hangs": {hang, false}, "trickles": {trickle, false}, "refuses": {nil, true}} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t, 4)
			s.cfg.Dedup.Lease, s.cfg.Retry.MaxAttempts, s.cfg.Retry.First = 6*time.Second, 100, time.Second
			s.cfg.Channels.WeChat.Timeout, s.cfg.Channels.Notify.Timeout = 3*time.Second, 3*time.Second
			// What hung may have arrived: here it is sent again, so that the end can be seen.
			s.cfg.Channels.SMS.WhenUnknown, s.cfg.Channels.SMS.AskFor = config.Resend, time.Second
			heal := (&sick{fails: c.fails}).serve(t, s, c.refuse)
			before := runtime.NumGoroutine()
			p, _ := s.run()
			s.eventually("ready", func() bool { ok, _ := s.ready(p.Addr()); return ok })
			const texts, others = 1000, 100
			var values []string
			for i := range texts {
				values = append(values, event(i, `"actions":["sms"],`))
			}
			s.write(values...)
			// Which limit is met first, the channel's share, the requests out or the breaker, is a matter of moments.
			s.eventually("the channel holds messages back", func() bool {
				return s.number(`SELECT count(*) FROM push_log WHERE error_code IN ('channel_busy', 'in_flight_wait', 'breaker_open')`) > 0 || c.refuse
			})
			for i := range others { // behind them, a few at a time
				s.write(event(i, `"actions":["notify","wechat"],`))
				time.Sleep(20 * time.Millisecond)
			}
			most := 0
			s.eventually("the others are sent", func() bool {
				most = max(most, runtime.NumGoroutine()-before)
				return s.statuses()["notify sent"] == others && s.statuses()["wechat sent"] == others
			})
			var slowest float64
			if err := s.db.QueryRow(t.Context(), `SELECT extract(epoch FROM max(sent_at - record_time))::float8 FROM push_log
				WHERE action <> 'sms'`).Scan(&slowest); err != nil {
				t.Fatal(err)
			}
			t.Logf("the slowest of the others took %.2f s, at most %d goroutines more", slowest, most)
			if slowest > long.Seconds() {
				t.Errorf("the slowest of the others took %.2f s", slowest)
			}
			if held := metric(t, p.Addr(), `pusher_in_flight{stage="admitted"}`); int(held) > s.cfg.Worker.Waiting {
				t.Errorf("%v deliveries are held", held)
			}
			if most > 12*s.cfg.Worker.Waiting {
				t.Errorf("%d goroutines for %d places", most, s.cfg.Worker.Waiting)
			}
			heal()
			s.sentInTheEnd(texts + 2*others)
			s.caughtUp()
			s.accepted(texts + others)
		})
	}
}

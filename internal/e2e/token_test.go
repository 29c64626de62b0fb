package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"pusher/internal/assemble"
	"pusher/internal/sandbox/provider"
)

// TestTokenRevokedUnderFourInstances: four pushers with a cache of their own each, a token endpoint slower than a send's
// timeout, and midway the token dies: once replaced by the next fetch, once given out dead until somebody forces a new
// one. Every message is accepted once, and few tokens are fetched.
func TestTokenRevokedUnderFourInstances(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stale   bool
		fetches int // at most
		number  int // of the token in the end
	}{
		"replaced":         {false, 9, 2}, // one at the start and one after, each
		"dead until force": {true, 13, 2}, // and one that is forced for all, which the others ask for again
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 4)
			slow := provider.Fault{Provider: provider.WeChat, Call: provider.CallToken, Kind: provider.Latency, Delay: provider.Duration(1500 * time.Millisecond)}
			flow := provider.Fault{Provider: provider.WeChat, Kind: provider.Latency, Delay: provider.Duration(50 * time.Millisecond)}
			s.faults(slow, flow)
			s.cfg.Worker.InFlight = 8
			var all []*assemble.Pusher
			for range 4 {
				p, _ := s.run()
				all = append(all, p)
			}
			s.eventually("each has its partitions", func() bool {
				for _, p := range all {
					if _, metrics := get(t, "http://"+p.Addr()+"/metrics"); strings.Count(metrics, "pusher_watermark_offset{") != 2 {
						return false // one of either topic
					}
				}
				return true
			})
			const n = 400
			var values []string
			for i := range n {
				values = append(values, event(i, `"actions":["wechat"],`))
			}
			s.write(values[:n/2]...)
			s.eventually("midway", func() bool { s.pass(); return s.sandbox.Journal().Total("") > n/4 })
			s.faults(slow, provider.Fault{Provider: provider.WeChat, Kind: provider.Revoke, Count: 1, Stale: c.stale}, flow)
			s.write(values[n/2:]...) // however quick the first half was, requests meet the dead token
			s.eventually("the token died", func() bool { return s.sandbox.Hits()[provider.Revoke] == 1 })
			s.sentInTheEnd(n)
			s.caughtUp()
			s.accepted(n)
			fetches := s.sandbox.Requests(provider.WeChat, provider.CallToken)
			t.Logf("%d token fetches", fetches)
			if fetches > c.fetches {
				t.Errorf("%d token fetches by four instances, want %d at most", fetches, c.fetches)
			}
			if token := s.stableToken(); !strings.Contains(token, fmt.Sprintf("-%d\"", c.number)) {
				t.Errorf("the token in the end is %s, want number %d: a forced one kills everybody's", token, c.number)
			}
		})
	}
}

// stableToken asks WeChat for the token of the moment.
func (s *system) stableToken() string {
	s.t.Helper()
	answer, err := http.Post(s.sandbox.URL()+"/cgi-bin/stable_token", "application/json",
		strings.NewReader(`{"appid":"`+provider.DefaultKeyID+`","secret":"`+provider.DefaultSecret+`"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// TestFieldReport33_TokenOutage: no token is to be had under a queue of messages. It is asked for a few times at most,
// what waits uses no retry, and the other channels go on. When the outage ends all is sent, within the minute for which
// nobody asks.
func TestFieldReport33_TokenOutage(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	s.patient()
	s.faults(provider.Fault{Provider: provider.WeChat, Call: provider.CallToken, Kind: provider.Refuse, Code: "40164", Message: "invalid ip"})
	s.run()
	const n = 200
	var values []string
	for i := range n {
		values = append(values, event(i, ""))
	}
	s.write(values...)
	began := time.Now()
	s.eventually("the others are sent, and all has been tried", func() bool {
		s.pass()
		got := s.statuses()
		return got["notify sent"] == n && got["sms sent"] == n && time.Since(began) > 8*time.Second
	})
	if got := s.number(`SELECT count(*) FROM push_log WHERE action = 'wechat' AND status IN ('failed', 'queued', 'sending') AND retries_used = 0`); got != n {
		t.Errorf("%d messages wait without having used a retry, want %d; the log says %v", got, n, s.statuses())
	}
	if got := s.sandbox.Requests(provider.WeChat, provider.CallToken); got < 1 || got > 20 {
		t.Errorf("%d token calls in %v", got, time.Since(began))
	}
	if os.Getenv(longVariable) == "" {
		return
	}
	s.faults()
	s.eventually("the minute is over", func() bool { return s.number(`SELECT count(*) FROM push_log WHERE next_attempt_at > now()`) == 0 })
	s.sentInTheEnd(3 * n)
	s.caughtUp()
	s.accepted(2 * n)
}

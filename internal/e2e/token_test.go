package e2e

import (
	"fmt"
	"io"
	"net/http"
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
			s.write(values...)
			s.eventually("midway", func() bool { s.pass(); return s.sandbox.Journal().Total("") > n/4 })
			s.faults(slow, provider.Fault{Provider: provider.WeChat, Kind: provider.Revoke, Count: 1, Stale: c.stale}, flow)
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

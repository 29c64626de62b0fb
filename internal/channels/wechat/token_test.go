package wechat_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pusher/internal/channels/channeltest"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// clock is a time that the test moves.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A thousand sends over five minutes while no token is to be had, or none that WeChat takes.
func TestFieldReport33_NoRefreshStorm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault provider.Fault
		class push.Class
		code  string
	}{
		"40164":             {provider.Fault{Call: provider.CallToken, Kind: provider.Refuse, Code: "40164", Message: "invalid ip 10.0.0.1"}, push.Account, "40164"},
		"45009":             {provider.Fault{Call: provider.CallToken, Kind: provider.Refuse, Code: "45009"}, push.Throttled, "45009"},
		"no answer":         {provider.Fault{Call: provider.CallToken, Kind: provider.Reset}, push.NotSent, "token_connection_lost"},
		"503":               {provider.Fault{Call: provider.CallToken, Kind: provider.Answer, Status: 503}, push.NotSent, "token_http_503"},
		"always 40001":      {provider.Fault{Kind: provider.Refuse, Code: "40001"}, push.Account, "40001"},
		"new tokens, 42001": {provider.Fault{Kind: provider.Refuse, Code: "42001"}, push.Account, "42001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{c.fault}})
			now := &clock{now: time.Now()}
			cfg := config(box.URL())
			cfg.Now = now.read
			sender := newSender(t, cfg)
			for i := range 1000 {
				m := message()
				m.Reference = strconv.Itoa(i)
				_, err := sender.Send(context.Background(), m)
				f := channeltest.Failure(t, err)
				if f.Class != c.class || f.Code != c.code || f.Wait > time.Minute {
					t.Fatalf("send %d: %v with wait %v, want %s %s", i, err, f.Wait, c.class, c.code)
				}
				if strings.HasPrefix(name, "new tokens") {
					box.ForgetTokens()
				}
				now.move(300 * time.Millisecond)
			}
			if n := box.Requests(provider.WeChat, provider.CallToken); n < 2 || n >= 20 {
				t.Errorf("%d token calls in five minutes, want fewer than 20", n)
			}
			if n := box.Requests(provider.WeChat, provider.CallSend); n >= 20 {
				t.Errorf("%d sends with a token known to be bad", n)
			}
			_ = box.SetFaults(nil)
			now.move(time.Minute)
			if _, err := sender.Send(context.Background(), message()); err != nil {
				t.Errorf("after the outage: %v", err)
			}
		})
	}
}

// All at once, not one after the other.
func TestFieldReport33_ManyAtOnceAskOnce(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{
		{Call: provider.CallToken, Kind: provider.Refuse, Code: "40164"},
	}})
	now := &clock{now: time.Now()}
	cfg := config(box.URL())
	cfg.Now = now.read
	sender := newSender(t, cfg)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if _, err := sender.Send(context.Background(), message()); err == nil {
				t.Error("sent without a token")
			}
		})
	}
	all.Wait()
	if n := box.Requests(provider.WeChat, provider.CallToken); n > 2 {
		t.Errorf("%d token calls for 200 sends at once, want two at most", n)
	}
}

func TestTokenIsRenewedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	now := &clock{now: time.Now()}
	box := channeltest.NewSandbox(t, provider.Config{Now: now.read})
	cfg := config(box.URL())
	cfg.Now = now.read
	sender := newSender(t, cfg)
	for i, step := range []time.Duration{0, time.Hour, 58 * time.Minute, 90 * time.Second} {
		now.move(step)
		m := message()
		m.Reference = strings.Repeat("r", i+1)
		if _, err := sender.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	if tokens, sends := box.Requests(provider.WeChat, provider.CallToken), box.Requests(provider.WeChat, provider.CallSend); tokens != 2 || sends != 4 {
		t.Errorf("%d token calls and %d sends, want 2 and 4: no send met a dead token", tokens, sends)
	}
}

// A slow token endpoint: senders that lose patience do not end the fetch, and none begins a second one.
func TestFetchOutlivesTheSendThatBeganIt(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{
		{Call: provider.CallToken, Kind: provider.Latency, Delay: provider.Duration(2 * channeltest.Timeout)},
	}})
	cfg := config(box.URL())
	cfg.Timeout = channeltest.Timeout
	sender := newSender(t, cfg)
	var impatient sync.WaitGroup
	for range 20 {
		impatient.Go(func() {
			_, err := sender.Send(context.Background(), message())
			if f := push.FailureOf(err); err == nil || f.Class != push.NotSent || !f.Unsent || f.Code != "token_wait" {
				t.Errorf("%v, want not sent, with proof", err)
			}
		})
	}
	impatient.Wait()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if _, err := sender.Send(context.Background(), message()); err == nil {
			break
		}
	}
	if tokens, accepted := box.Requests(provider.WeChat, provider.CallToken), box.Journal().Total(""); tokens != 1 || accepted != 1 {
		t.Errorf("%d token calls, %d accepted; want one of each", tokens, accepted)
	}
}

func TestCloseEndsAFetchUnderWay(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{{Call: provider.CallToken, Kind: provider.Stall}}})
	cfg := config(box.URL())
	cfg.Timeout = channeltest.Timeout
	sender := newSender(t, cfg)
	if _, err := sender.Send(context.Background(), message()); err == nil {
		t.Error("sent without a token")
	}
	sender.Close() // returns, and goleak finds nothing
}

func TestTokenErrorsShowNoSecret(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{
		{Call: provider.CallToken, Kind: provider.Refuse, Code: "40125", Message: "invalid appsecret " + provider.DefaultSecret},
	}})
	_, err := newSender(t, config(box.URL())).Send(context.Background(), message())
	if f := channeltest.Failure(t, err); f.Class != push.Account || strings.Contains(err.Error(), provider.DefaultSecret) {
		t.Errorf("%v, want a clean account stop", err)
	}
}

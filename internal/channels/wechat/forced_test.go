package wechat_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"pusher/internal/channels/channeltest"
	"pusher/internal/channels/wechat"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// ration gives so many forced tokens, then none.
type ration struct {
	mu    sync.Mutex // guards all below
	left  int
	taken int
	wait  time.Duration // when none is left
	err   error
}

func (r *ration) Take(_ context.Context, account string) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case account != provider.DefaultKeyID:
		return 0, errors.New("another account")
	case r.err != nil:
		return 0, r.err
	case r.left == 0:
		return r.wait, nil
	}
	r.left--
	r.taken++
	return 0, nil
}

// deadToken is a sandbox that refuses the first token although stable_token goes on giving it out.
func deadToken(t *testing.T, refusals int) *provider.Sandbox {
	t.Helper()
	return channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{
		{Kind: provider.Refuse, Code: "40001", Count: refusals},
	}})
}

func TestTokenIsForcedOnlyWhenTheDeadOneComesBack(t *testing.T) {
	t.Parallel()
	box, r := deadToken(t, 1), &ration{left: 5}
	cfg := config(box.URL())
	cfg.Ration = r
	sender := newSender(t, cfg)
	if _, err := sender.Send(context.Background(), message()); err != nil {
		t.Fatal(err)
	}
	if n := box.Requests(provider.WeChat, provider.CallToken); n != 3 || r.taken != 1 {
		t.Errorf("%d token calls, %d forced; want the first, the same again, and one forced", n, r.taken)
	}
	box.ForgetTokens() // the next unforced one is new: nothing to force
	m := message()
	m.Reference = "another"
	if _, err := sender.Send(context.Background(), m); err != nil || r.taken != 1 {
		t.Errorf("%v, %d forced", err, r.taken)
	}
}

func TestNothingIsForcedWithoutARation(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]wechat.Ration{
		"none": nil, "away": &ration{err: errors.New("redis is away")}, "used up": &ration{wait: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box := deadToken(t, 1)
			cfg := config(box.URL())
			cfg.Ration = r
			_, err := newSender(t, cfg).Send(context.Background(), message())
			if f := channeltest.Failure(t, err); f.Class != push.Account || f.Code != "40001" || f.Class.UsesRetry() {
				t.Errorf("%v, want an account stop that uses no retry", err)
			}
			if n := box.Requests(provider.WeChat, provider.CallToken); n > 3 {
				t.Errorf("%d token calls", n)
			}
		})
	}
}

// Sends are refused whatever the token: forcing does not help, and is not tried again and again.
func TestForcingInVainStops(t *testing.T) {
	t.Parallel()
	box, r := deadToken(t, 0), &ration{left: 100}
	now := &clock{now: time.Now()}
	cfg := config(box.URL())
	cfg.Ration, cfg.Now = r, now.read
	sender := newSender(t, cfg)
	for i := range 1000 { // over five minutes
		m := message()
		m.Reference = strconv.Itoa(i)
		_, err := sender.Send(context.Background(), m)
		if f := channeltest.Failure(t, err); f.Class != push.Account || f.Code != "40001" {
			t.Fatalf("%v, want an account stop", err)
		}
		now.move(300 * time.Millisecond)
	}
	if n := box.Requests(provider.WeChat, provider.CallToken); r.taken != 1 || n >= 20 {
		t.Errorf("%d forced, %d token calls; want one and fewer than 20", r.taken, n)
	}
	_ = box.SetFaults(nil)
	now.move(time.Minute)
	if _, err := sender.Send(context.Background(), message()); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

// Four instances, the token revoked midway, a slow token endpoint: each message is accepted once, and the token calls
// of all four stay in single figures.
func TestFourInstancesOutliveARevokedToken(t *testing.T) {
	t.Parallel()
	box := channeltest.NewSandbox(t, provider.Config{Faults: []provider.Fault{
		{Call: provider.CallToken, Kind: provider.Latency, Delay: provider.Duration(200 * time.Millisecond)},
	}})
	r := &ration{left: 20}
	const instances, each = 4, 100
	var all sync.WaitGroup
	var half sync.WaitGroup
	half.Add(instances * each / 2)
	revoked := make(chan struct{})
	for instance := range instances {
		cfg := config(box.URL())
		cfg.Ration = r
		sender := newSender(t, cfg)
		for i := range each {
			all.Go(func() {
				if i < each/2 {
					defer half.Done()
				} else {
					<-revoked
				}
				m := message()
				m.Reference = strconv.Itoa(instance*each + i)
				if _, err := sender.Send(context.Background(), m); err != nil {
					t.Error(err)
				}
			})
		}
	}
	half.Wait()
	box.ForgetTokens()
	close(revoked)
	all.Wait()
	tokens, accepted := box.Requests(provider.WeChat, provider.CallToken), box.Journal().Total(provider.WeChat)
	if tokens >= 10 || accepted != instances*each || len(box.Journal().Twice()) != 0 {
		t.Errorf("%d token calls, %d accepted, twice %v; want single figures, %d, none", tokens, accepted, box.Journal().Twice(), instances*each)
	}
	t.Logf("%d token calls for %d messages", tokens, accepted)
}

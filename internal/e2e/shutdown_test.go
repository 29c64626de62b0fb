package e2e

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pusher/internal/dedup"
	"pusher/internal/fault"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// slow makes the providers take this long for every answer.
func (in *installation) slow(d time.Duration) {
	in.t.Helper()
	if err := in.sandbox.SetFaults([]provider.Fault{{Kind: provider.Latency, Delay: provider.Duration(d)}}); err != nil {
		in.t.Fatal(err)
	}
}

// each lists one event for all channels for each number from first on.
func each(first, n int) []string {
	events := make([]string, n)
	for i := range events {
		events[i] = event(first+i, "")
	}
	return events
}

// accepted counts the accepted sends and the messages in the inbox, and none may be there twice.
func (in *installation) accepted() int {
	in.t.Helper()
	if twice := in.sandbox.Journal().Twice(); len(twice) > 0 {
		in.t.Errorf("sent twice: %v", twice)
	}
	return in.sandbox.Journal().Total("") + in.number(`SELECT count(*) FROM inbox_message`)
}

// held counts the keys that a claim still holds.
func (in *installation) held() int {
	in.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: in.cfg.Redis.Addrs[0], DB: in.cfg.Redis.DB})
	defer func() { _ = client.Close() }()
	names, err := client.Keys(in.t.Context(), "push:dedup:*").Result()
	if err != nil {
		in.t.Fatal(err)
	}
	held, keys := 0, dedup.New(client, in.cfg.Dedup.Lease)
	for _, name := range names {
		info, err := keys.Inspect(in.t.Context(), name)
		if err != nil {
			in.t.Fatal(err)
		}
		if info.State == push.KeyProcessing {
			held++
		}
	}
	return held
}

// TestSIGTERMDuringSendsLosesNoResult: what is out is finished and written, what has not left is given back, and the
// program ends with 0 inside the grace; nothing failed because something was cancelled.
func TestSIGTERMDuringSendsLosesNoResult(t *testing.T) {
	t.Parallel()
	const events = 40
	in := install(t, map[string]string{
		"PUSHER_WORKER_IN_FLIGHT": "4", "PUSHER_CHANNELS_SMS_TIMEOUT": "4s", "PUSHER_CHANNELS_WECHAT_TIMEOUT": "4s", "PUSHER_DEDUP_LEASE": "12s",
	})
	in.slow(time.Second)
	in.write(each(1, events)...)
	p := in.pusher("")
	in.eventually("sends are out, and some wait", func() bool {
		return in.number(`SELECT count(*) FROM push_log WHERE status = 'sending' AND action <> 'notify'`) > 8 && in.sandbox.Journal().Total("") > 0
	})
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	if code, took := p.code(), time.Since(began); code != 0 || took > in.cfg.Worker.Grace {
		t.Errorf("ended with %d after %v, want 0 within %v", code, took, in.cfg.Worker.Grace)
	}
	if sent, accepted := in.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`), in.accepted(); sent != accepted {
		t.Errorf("%d rows are sent, %d sends were accepted: results got lost", sent, accepted)
	}
	if n := in.number(`SELECT count(*) FROM push_log WHERE status = 'sending'`); n > 0 || in.held() > 0 {
		t.Errorf("%d rows are sending and %d keys processing: claims were not given back", n, in.held())
	}
	if n := in.number(`SELECT count(*) FROM push_log WHERE status = 'failed'`); n == 0 {
		t.Error("no claim was given back: the signal came too late to show anything")
	}
	if n := in.number(`SELECT count(*) FROM push_log WHERE status NOT IN ('sent', 'failed') OR status = 'failed'
		AND (retries_used > 0 OR next_attempt_at > now() OR error_message ILIKE '%cancel%' OR error_code ILIKE '%cancel%')`); n > 0 {
		t.Errorf("%d rows did not end as sent, or due at once with no retry used: %v", n, in.statuses())
	}
	in.slow(0)
	next := in.pusher("")
	in.allSent(3 * events)
	next.retire()
}

// allSent runs passes until n deliveries are sent, once each, and the group has no lag.
func (in *installation) allSent(n int) {
	in.t.Helper()
	done := func() bool {
		return in.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == n && in.lag() == 0
	}
	if !in.passes(2*soon, done) {
		in.t.Errorf("the log says %v, lag %d; want %d sent", in.statuses(), in.lag(), n)
	}
	if got := in.accepted(); got != n {
		in.t.Errorf("%d accepted sends, want %d", got, n)
	}
}

// TestSecondSignalEndsAtOnce: with 128 and its number, while requests are still out.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	in := install(t, map[string]string{"PUSHER_CHANNELS_SMS_TIMEOUT": "4s", "PUSHER_DEDUP_LEASE": "12s"})
	in.slow(time.Minute)
	in.write(event(1, `"actions":["sms"],`))
	p := in.pusher("")
	in.eventually("a request is out", func() bool { return in.sandbox.Requests(provider.Aliyun, provider.CallSend) == 1 })
	p.Signal(syscall.SIGTERM)
	p.says("stopping")
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	if code, took := p.code(), time.Since(began); code != 128+int(syscall.SIGTERM) || took > time.Second {
		t.Errorf("ended with %d after %v, want 143 at once", code, took)
	}
}

// TestRuleF1FrozenProcessSendsNothingOnWaking: SIGSTOP past the lease anywhere before the last look. There is nobody
// else who could have taken the claim over; it is the clock that keeps the request back.
func TestRuleF1FrozenProcessSendsNothingOnWaking(t *testing.T) {
	t.Parallel()
	// Before its claim a process holds nothing that could be over: awake, it claims anew and may send (the crash matrix has that).
	points := []fault.Point{fault.AfterClaim, fault.BeforeIntent, fault.AfterIntent, fault.Fence}
	actions := []push.Action{push.SMS, push.WeChat}
	for i, point := range points {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			in := install(t, nil)
			in.write(event(1, fmt.Sprintf(`"actions":[%q],`, actions[i%len(actions)])))
			p := in.pusher(fmt.Sprintf("%s=%s", point, fault.Stall))
			p.says(fault.Said(point, fault.Stall))
			wait(t.Context(), in.cfg.Dedup.Lease+time.Second)
			p.Signal(syscall.SIGCONT)
			in.settled(1, push.Failed)
			if n := in.sandbox.Requests(provider.Aliyun, provider.CallSend) + in.sandbox.Requests(provider.WeChat, provider.CallSend); n > 0 {
				t.Errorf("%d requests after the lease was over", n)
			}
			in.allSent(1)
			p.retire()
		})
	}
}

// restartVariable is how long the rolling restart goes on; make rolling-restart sets it.
const restartVariable = "ROLLING_RESTART"

// TestRollingRestart: two pushers under a steady flow, one of them told to stop and replaced in turn.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	most, every := 30*time.Second, 5*time.Second
	if long, err := time.ParseDuration(os.Getenv(restartVariable)); err == nil {
		most, every = long, 10*time.Second
	}
	in := install(t, map[string]string{"PUSHER_WORKER_IN_FLIGHT": "64"})
	in.slow(100 * time.Millisecond)
	flow, stop := context.WithTimeout(t.Context(), most)
	n := 0
	written := inTheBackground(t, func(context.Context) {
		for ; flow.Err() == nil; wait(flow, time.Second) {
			in.write(each(n, 8)...)
			n += 8
		}
	})
	t.Cleanup(written)
	t.Cleanup(stop)
	pushers := []*program{in.pusher(""), in.pusher("")}
	restarts := 0
	for ; flow.Err() == nil; restarts++ {
		wait(flow, every)
		old := restarts % len(pushers)
		pushers[old].retire()
		pushers[old] = in.pusher("")
		in.pass()
	}
	written()
	in.allSent(3 * n)
	for _, p := range pushers {
		p.retire()
	}
	t.Logf("%d deliveries, %d restarts", 3*n, restarts)
}

package deliver

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/push"
)

// slow is a sender that takes its time.
type slow struct {
	channel
	takes time.Duration
}

func (s slow) Send(ctx context.Context, m push.Message) (push.Acceptance, error) {
	time.Sleep(s.takes) // in the bubble's time
	return s.channel.Send(ctx, m)
}

// burst feeds n events of the sms channel at once, and answers when all are done; the channel's share of the room is 2.
func burst(t *testing.T, n int, takes time.Duration) (w *world, took time.Duration) {
	t.Helper()
	w = newWorld()
	cfg := w.config()
	cfg.InFlight, cfg.Waiting = 8, 8
	cfg.Channels[push.SMS] = Channel{Senders: []Sender{slow{channel{w}, takes}}, Timeout: time.Second}
	cfg.Channels[push.WeChat] = Channel{Senders: []Sender{channel{w}}, Timeout: time.Second}
	d := w.start(t, cfg)
	began := time.Now()
	done := make(chan error, n)
	for i := range n {
		r := record("sms")
		r.Value = []byte(strings.Replace(string(r.Value), `"biz_id":1`, `"biz_id":`+string(rune('1'+i)), 1))
		if err := d.Handle(t.Context(), r, func(err error) { done <- err }); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return w, time.Since(began)
}

func (w *world) statuses() map[push.Status]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := map[push.Status]int{}
	for _, r := range w.rows {
		got[r.Status]++
	}
	return got
}

func TestSlowChannelIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := burst(t, 6, 300*time.Millisecond)
		if got := w.statuses(); got[push.Sent] != 6 {
			t.Errorf("rows %v, want 6 sent: a burst over the share is no reason to give back", got)
		}
	})
}

func TestAChannelWithoutCompanyGivesNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config()
		cfg.InFlight, cfg.Waiting = 2, 8 // four of them for sms
		cfg.Channels = map[push.Action]Channel{push.SMS: {Senders: []Sender{slow{channel{w}, 3 * time.Second}}, Timeout: time.Second}}
		d := w.start(t, cfg)
		began := time.Now()
		await(t, feed(t, d, "sms", 0, 20))
		if got := w.statuses(); got[push.Sent] != 20 {
			t.Errorf("rows %v, want 20 sent: what has no room waits where it is", got)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("took %v, want ten times two at once", took)
		}
	})
}

func TestHangingChannelGivesBackWhatItHasNoRoomFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, took := burst(t, 6, 10*time.Second)
		got := w.statuses()
		if got[push.Sent] != 2 || got[push.Failed] != 4 {
			t.Errorf("rows %v, want 2 sent and 4 given back", got)
		}
		if took > 11*time.Second {
			t.Errorf("took %v: what is given back must not wait for the provider", took)
		}
	})
}

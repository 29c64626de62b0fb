package deliver

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pusher/internal/push"
)

// feed feeds n events of one action, beginning with an id; each done gets its answer.
func feed(t *testing.T, d *Deliverer, action string, from, n int) (done chan error) {
	t.Helper()
	done = make(chan error, n)
	for i := range n {
		r := record(action)
		r.Value = []byte(strings.Replace(string(r.Value), `"biz_id":1`, fmt.Sprintf(`"biz_id":%d`, from+i), 1))
		if err := d.Handle(t.Context(), r, func(err error) { done <- err }); err != nil {
			t.Fatalf("event %d of %s: %v", i, action, err)
		}
	}
	return done
}

func await(t *testing.T, done chan error) {
	t.Helper()
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestAHangingProviderHoldsBackItsOwnChannelOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config() // 16 waiting: 5 of them for sms
		cfg.Pushes["viewed"] = Push{Rule: cfg.Pushes["viewed"].Rule, Actions: []push.Action{push.SMS, push.WeChat, push.Notify}}
		cfg.Channels[push.SMS] = Channel{Senders: []Sender{slow{channel{w}, 20 * time.Second}}, Timeout: time.Second}
		d := w.start(t, cfg)
		began := time.Now()
		stuck := feed(t, d, "sms", 0, 30)
		await(t, feed(t, d, "wechat", 100, 10))
		await(t, feed(t, d, "notify", 200, 10))
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the others took %v beside a provider that hangs", took)
		}
		await(t, stuck)
		if got := w.statuses(); got[push.Sent] != 25 || got[push.Failed] != 25 {
			t.Errorf("rows %v, want 5 sms sent in the end, 25 given back, and all the others sent", got)
		}
	})
}

func TestWhatWaitsLongerThanALeaseForASlotIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		cfg := w.config()
		cfg.InFlight, cfg.Lease = 1, 5*time.Second
		cfg.Channels[push.SMS] = Channel{Senders: []Sender{slow{channel{w}, 20 * time.Second}}, Timeout: time.Second}
		d := w.start(t, cfg)
		await(t, feed(t, d, "sms", 0, 2))
		row := map[push.Status]int{}
		for _, r := range w.rows {
			row[r.Status] += 1 + r.RetriesUsed
		}
		if row[push.Sent] != 1 || row[push.Failed] != 1 {
			t.Errorf("rows %v, want one sent, one given back without a retry used", row)
		}
	})
}

func TestNobodyWaitsAtAStuckChannelUntilItIsTrustedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := newWorld().config()
		cfg.Waiting = 3 // one of them for sms
		s := newShares(cfg)[push.SMS]
		enter := func() (ok bool, took time.Duration) {
			began := time.Now()
			ok = s.enter(t.Context(), 1)
			return ok, time.Since(began)
		}
		for i, want := range []struct {
			ok   bool
			took time.Duration
		}{{true, 0}, {false, shareWait}, {false, 0}} {
			if ok, took := enter(); ok != want.ok || took != want.took {
				t.Errorf("entering %d: %t after %v, want %t after %v", i, ok, took, want.ok, want.took)
			}
		}
		for range 3 * trusted { // it answers now and then, and hangs in between
			for range trusted - 1 {
				s.heard(nil)
			}
			s.heard(&push.Failure{Class: push.Ambiguous})
			s.heard(&push.Failure{Class: push.NotSent, Unsent: true})
		}
		if _, took := enter(); took != 0 {
			t.Errorf("waited %v for a provider that hangs time and again", took)
		}
		for range trusted {
			s.heard(&push.Failure{Class: push.Throttled})
		}
		if ok, took := enter(); ok || took != shareWait {
			t.Errorf("entering: %t after %v, want to wait for a provider that answers", ok, took)
		}
		s.room.Release(1)
		s.bytes.Release(1)
		if ok, _ := enter(); !ok {
			t.Error("there is room at a stuck channel, and nobody may take it")
		}
	})
}

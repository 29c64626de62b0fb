package deliver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestHandleBlocksWhileThereIsNoRoom(t *testing.T) {
	t.Parallel()
	for name, narrow := range map[string]func(*Config){
		"number": func(c *Config) { c.Waiting = 1 },
		"bytes":  func(c *Config) { c.WaitingBytes = 300 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			gate := make(chan struct{})
			w.fail["claim"] = 0
			cfg := w.config()
			narrow(&cfg)
			cfg.Channels[push.SMS] = Channel{Senders: []Sender{gated{channel{w}, gate}}, Timeout: time.Second}
			d := w.start(t, cfg)
			done := make(chan error, 2)
			if err := d.Handle(t.Context(), record("sms"), func(err error) { done <- err }); err != nil {
				t.Fatal(err)
			}
			full := errors.New("generation ended")
			ctx, cancel := context.WithCancelCause(t.Context())
			blocked := make(chan error, 1)
			go func() { blocked <- d.Handle(ctx, record("sms"), func(error) {}) }()
			select {
			case err := <-blocked:
				t.Fatalf("the second record was let in: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
			cancel(full)
			if err := <-blocked; !errors.Is(err, full) {
				t.Errorf("Handle = %v, want the generation's end", err)
			}
			close(gate)
			<-done
			if err := d.Handle(t.Context(), record("sms"), func(err error) { done <- err }); err != nil {
				t.Errorf("no room after the first was done: %v", err)
			}
			<-done
		})
	}
}

// gated is a sender that answers when its gate opens.
type gated struct {
	channel
	gate <-chan struct{}
}

func (g gated) Send(ctx context.Context, m push.Message) (push.Acceptance, error) {
	<-g.gate
	return g.channel.Send(ctx, m)
}

func TestHandleRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	d := newWorld()
	deliverer := d.start(t, d.config())
	never := func(error) { t.Error("done was called") }
	var poison *push.PoisonError
	r := record("sms")
	r.Value = []byte(`{"biz_type":"nobody","biz_id":1}`)
	if err := deliverer.Handle(t.Context(), r, never); !errors.As(err, &poison) || poison.Reason != push.ReasonUnknownBizType {
		t.Errorf("Handle = %v, want %s", err, push.ReasonUnknownBizType)
	}
	r.Value = nil
	if err := deliverer.Handle(t.Context(), r, never); !errors.Is(err, push.ErrTombstone) {
		t.Errorf("Handle = %v, want a tombstone", err)
	}
}

func TestSkippedDeliveriesLeaveTheOthersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	d := w.start(t, w.config())
	r := record("sms")
	r.Value = []byte(strings.Replace(string(r.Value), `["sms"]`, `["pigeon","sms","wechat"]`, 1))
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), r, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := map[string]push.Status{}
	for key, row := range w.rows {
		got[key] = row.Status
	}
	want := map[string]push.Status{
		"push:dedup:viewed:1:pigeon": push.Skipped, "push:dedup:viewed:1:sms": push.Sent, "push:dedup:viewed:1:wechat": push.Skipped,
	}
	for key, status := range want {
		if got[key] != status {
			t.Errorf("%s is %q, want %q", key, got[key], status)
		}
	}
	if len(w.sent) != 1 {
		t.Errorf("%d sends, want 1", len(w.sent))
	}
}

func TestAddressOf(t *testing.T) {
	t.Parallel()
	all := push.Recipient{UserID: "u1", Phone: "138 0013 8000", OpenID: "oX"}
	for _, c := range []struct {
		name   string
		action push.Action
		to     push.Recipient
		full   string
		skip   string
	}{
		{"user", push.Notify, all, "u1", ""},
		{"phone in its one form", push.SMS, all, "+8613800138000", ""},
		{"openid", push.WeChat, all, "oX", ""},
		{"no user", push.Notify, push.Recipient{}, "", "no_user_id"},
		{"no phone", push.SMS, push.Recipient{}, "", "no_phone"},
		{"no number", push.SMS, push.Recipient{Phone: "call me"}, "", "bad_phone"},
		{"no openid", push.WeChat, push.Recipient{}, "", "no_openid"},
	} {
		if got := addressOf(c.action, c.to, "CN"); got.full != c.full || got.skip != c.skip {
			t.Errorf("%s: %+v, want %q, %q", c.name, got, c.full, c.skip)
		}
	}
}

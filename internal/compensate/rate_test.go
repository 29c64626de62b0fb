package compensate_test

import (
	"testing"
	"time"

	"pusher/internal/push"
)

func TestAPassRequeuesNoMoreForAChannelThanItsRateTakesUntilTheNext(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 40), push.NotSent, 0)
	if _, err := s.db.Exec(t.Context(), `UPDATE push_log SET action = 'wechat' WHERE id % 4 = 0`); err != nil {
		t.Fatal(err)
	}
	pass := s.pass(nil)
	pass.Rates, pass.Every = map[push.Action]float64{push.SMS: 0.7}, 10*time.Second
	steps := []struct {
		what        string
		sms, wechat int // queued after a pass
	}{
		{"first pass", 7, 10}, {"nothing was taken: no room", 7, 10},
	}
	for _, step := range steps {
		if _, err := pass.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		sms, wechat := s.count(t, "status = 'queued' AND action = 'sms'"), s.count(t, "status = 'queued' AND action = 'wechat'")
		if sms != step.sms || wechat != step.wechat {
			t.Errorf("%s: queued %d SMS and %d WeChat, want %d and %d", step.what, sms, wechat, step.sms, step.wechat)
		}
	}
	if _, err := s.db.Exec(t.Context(), `UPDATE push_log SET status = 'failed', next_attempt_at = now() + interval '1 h'
		WHERE id IN (SELECT id FROM push_log WHERE status = 'queued' AND action = 'sms' LIMIT 3)`); err != nil {
		t.Fatal(err)
	}
	if sum, err := pass.Run(t.Context()); err != nil || sum.Requeued != 3 {
		t.Errorf("three were taken: re-queued %d, %v, want 3", sum.Requeued, err)
	}
}

func TestAChannelSlowerThanItsPassesIsNotForgotten(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.end(t, s.begin(t, 2), push.NotSent, 0)
	pass := s.pass(nil)
	pass.Rates, pass.Every = map[push.Action]float64{push.SMS: 0.01}, time.Second
	if sum, err := pass.Run(t.Context()); err != nil || sum.Requeued != 1 {
		t.Errorf("re-queued %d, %v, want 1", sum.Requeued, err)
	}
}

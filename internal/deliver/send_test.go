package deliver

import (
	"slices"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestNothingLeftIsTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.answer = func(push.Message) (push.Acceptance, error) {
		if len(w.sent) < 3 {
			return push.Acceptance{}, &push.Failure{Class: push.NotSent, Code: "dial", Unsent: true}
		}
		return push.Acceptance{Provider: "aliyun"}, nil
	}
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t); got.Status != push.Sent || got.Attempt != 1 {
		t.Errorf("row is %s(%d), want sent(1)", got.Status, got.Attempt)
	}
}

func TestCodedRefusalIsNotTriedAgainInline(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.answer = func(push.Message) (push.Acceptance, error) {
		return push.Acceptance{}, &push.Failure{Class: push.NotSent, Code: "isp.SYSTEM_ERROR"}
	}
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t).Status; got != push.Failed || len(w.sent) != 1 {
		t.Errorf("row is %s after %d sends, want failed after 1", got, len(w.sent))
	}
}

func TestRuleF1ShortLeaseSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	cfg := w.config()
	cfg.Lease = 900 * time.Millisecond // shorter than the channel's timeout: never enough left
	if err := handle(t, w.start(t, cfg), "sms"); err != nil {
		t.Fatal(err)
	}
	undo, release := slices.Index(w.calls, "undo"), slices.Index(w.calls, "release")
	if len(w.sent) != 0 || undo < 0 || release < undo {
		t.Errorf("calls = %v, want no send, and the row undone before the key is released", w.calls)
	}
	if got := w.row(t).Status; got != push.Failed {
		t.Errorf("row is %s, want failed", got)
	}
}

func TestRuleF1FrozenPastTheLeaseSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := newClock()
	cfg := w.config()
	cfg.Now = c.now
	w.takeOver = func(*push.Row) { c.pass(29500 * time.Millisecond) } // frozen between the claim and the fence
	if err := handle(t, w.start(t, cfg), "sms"); err != nil {
		t.Fatal(err)
	}
	if len(w.sent) != 0 {
		t.Error("a frozen worker sent past its lease")
	}
}

func TestExpiredWhileWaitingSendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := newClock()
	cfg := w.config()
	cfg.Now = c.now
	w.takeOver = func(*push.Row) { c.pass(10 * time.Second) }
	d := w.start(t, cfg)
	r := record("sms")
	r.Value = append([]byte(`{"expires_at":"`+c.now().Add(5*time.Second).Format(time.RFC3339)+`",`), r.Value[1:]...)
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), r, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	<-done
	if len(w.sent) != 0 {
		t.Error("an event past its expires_at was sent")
	}
}

func TestRuleP4WeChatRepeatsInsideTheWindow(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.provider = "wechat"
	w.answer = func(push.Message) (push.Acceptance, error) {
		if len(w.sent) == 1 {
			return push.Acceptance{}, &push.Failure{Class: push.Ambiguous, Code: "timeout"}
		}
		return push.Acceptance{Provider: "wechat"}, nil
	}
	cfg := w.config()
	cfg.Pushes["viewed"] = Push{Rule: cfg.Pushes["viewed"].Rule, Actions: []push.Action{push.WeChat}}
	if err := handle(t, w.start(t, cfg), "wechat"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t); got.Status != push.Sent || got.Attempt != 2 {
		t.Errorf("row is %s(%d), want sent(2)", got.Status, got.Attempt)
	}
	if w.sent[0].Reference != w.sent[1].Reference {
		t.Error("the repeat carries another client_msg_id")
	}
}

// Between an ambiguous attempt and its repeat the row is unknown, and a renewal finds nothing to renew: that is no
// lease lost.
func TestRuleP4RenewalBetweenTwoAttemptsDoesNotStopTheRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.provider = "wechat"
	w.answer = func(push.Message) (push.Acceptance, error) {
		if len(w.sent) == 1 {
			return push.Acceptance{}, &push.Failure{Class: push.Ambiguous, Code: "timeout"}
		}
		return push.Acceptance{Provider: "wechat"}, nil
	}
	w.renewed = func(row bool) push.KeyAnswer { // as PostgreSQL would: only what is sending
		return push.KeyAnswer{Mine: !row || w.byID(1).Status == push.Sending}
	}
	cfg := w.config()
	cfg.Lease = 1500 * time.Millisecond // renewed before the second that the repeat waits is over
	cfg.Pushes["viewed"] = Push{Rule: cfg.Pushes["viewed"].Rule, Actions: []push.Action{push.WeChat}}
	if err := handle(t, w.start(t, cfg), "wechat"); err != nil {
		t.Fatal(err)
	}
	if got := w.row(t); got.Status != push.Sent || w.count("renew row") == 0 {
		t.Errorf("row is %s(%d) after %d renewals, want sent(2) after one or more", got.Status, got.Attempt, w.count("renew row"))
	}
}

func TestHoleH5WindowIsCheckedAtTheFence(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.provider = "wechat"
	w.takeOver = func(r *push.Row) { r.Ambiguous, r.AmbiguousAge = true, 9*time.Minute-500*time.Millisecond }
	cfg := w.config()
	cfg.Pushes["viewed"] = Push{Rule: cfg.Pushes["viewed"].Rule, Actions: []push.Action{push.WeChat}}
	if err := handle(t, w.start(t, cfg), "wechat"); err != nil {
		t.Fatal(err)
	}
	if len(w.sent) != 0 || w.count("undo") != 1 {
		t.Errorf("%d sends and %d undos, want 0 and 1", len(w.sent), w.count("undo"))
	}
}

// What is left of the window is as of PostgreSQL's answer: the way of that answer has taken from it too.
func TestHoleH5WindowCountsFromBeforeTheIntent(t *testing.T) {
	t.Parallel()
	for name, unanswered := range map[string]int{"answered at once": 0, "answered when asked again": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.provider = "wechat"
			w.fail["intend"] = unanswered
			c := newClock()
			w.takeOver = func(r *push.Row) {
				r.Ambiguous, r.AmbiguousAge = true, 9*time.Minute-2*time.Second
				c.pass(1500 * time.Millisecond) // leaves less than the timeout of a second
			}
			cfg := w.config()
			cfg.Now = c.now
			cfg.Pushes["viewed"] = Push{Rule: cfg.Pushes["viewed"].Rule, Actions: []push.Action{push.WeChat}}
			if err := handle(t, w.start(t, cfg), "wechat"); err != nil {
				t.Fatal(err)
			}
			if len(w.sent) != 0 || w.count("undo") != 1 {
				t.Errorf("%d sends and %d undos, want 0 and 1", len(w.sent), w.count("undo"))
			}
		})
	}
}

func TestSMSAmbiguousIsNeverRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.answer = func(push.Message) (push.Acceptance, error) {
		return push.Acceptance{}, &push.Failure{Class: push.Ambiguous, Code: "timeout"}
	}
	if err := handle(t, w.start(t, w.config()), "sms"); err != nil {
		t.Fatal(err)
	}
	if len(w.sent) != 1 || w.count("repeat") != 0 {
		t.Errorf("calls = %v, want one send and no repeat", w.calls)
	}
}

func TestRetrySendsWhatTheRowRemembers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	id := push.Identity{BizType: "viewed", RuleVersion: "v1", DedupID: "1", Action: push.SMS}
	w.rows[id.Key()] = &push.Row{
		ID: 1, Round: 1, Attempt: 2, Status: push.Queued, Recipient: "+8613900139000", Provider: "aliyun",
		Event: []byte(`{"biz_type":"viewed","biz_id":1,"params":{"company":"the row's"}}`),
	}
	d := w.start(t, w.config())
	r := record("sms")
	r.Topic = "retry"
	r.Headers = []push.Header{
		{Key: "push-action", Value: []byte("sms")}, {Key: "push-round", Value: []byte("1")}, {Key: "push-attempt", Value: []byte("2")},
	}
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), r, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	<-done
	if len(w.sent) != 1 || w.sent[0].Recipient != "+8613900139000" || w.sent[0].Vars["company"] != "the row's" {
		t.Errorf("sent = %+v, want the row's own recipient and params", w.sent)
	}
}

func TestForgedRetryHeadersOnTheMainTopicChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	d := w.start(t, w.config())
	r := record("sms")
	r.Headers = []push.Header{
		{Key: "push-action", Value: []byte("sms")}, {Key: "push-round", Value: []byte("1")}, {Key: "push-attempt", Value: []byte("9")},
	}
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), r, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	<-done
	if got := w.row(t); got.Status != push.Sent || got.Attempt != 1 {
		t.Errorf("row is %s(%d), want sent(1)", got.Status, got.Attempt)
	}
}

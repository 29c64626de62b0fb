package deliver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
)

// account is one of two SMS providers of the world; it fails as told, else accepts.
type account struct {
	channel

	name   string
	serves bool
	fails  *push.Failure
	before func() // runs as the request arrives
}

func (a account) Provider() string   { return a.name }
func (a account) Serves(string) bool { return a.serves }

func (a account) Send(_ context.Context, m push.Message) (push.Acceptance, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down("send " + a.name)
	a.sent = append(a.sent, m)
	if a.before != nil {
		a.before()
	}
	if a.fails != nil {
		return push.Acceptance{}, a.fails
	}
	return push.Acceptance{Provider: a.name, MessageID: "m-" + a.name}, nil
}

// twoProviders makes SMS a channel of aliyun and tencent, each with its failure.
func (w *world) twoProviders(first, second *push.Failure) Config {
	cfg := w.config()
	cfg.InlineRetries = 0
	cfg.Channels[push.SMS] = Channel{Timeout: time.Second, Senders: []Sender{
		account{channel{w}, "aliyun", true, first, nil}, account{channel{w}, "tencent", true, second, nil},
	}}
	return cfg
}

// sends are the providers called, in order.
func (w *world) sends() string {
	var names []string
	for _, call := range w.calls {
		if name, ok := strings.CutPrefix(call, "send "); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

func TestRuleP5TheNextProviderOnlyAfterARefusalOfTheFirstOnesOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first *push.Failure
		sends string
		want  push.Status
	}{
		"accepted":          {nil, "aliyun", push.Sent},
		"dial failure":      {&push.Failure{Class: push.NotSent, Code: "dial", Unsent: true}, "aliyun tencent", push.Sent},
		"coded, may pass":   {&push.Failure{Class: push.NotSent, Code: "isp.SYSTEM_ERROR"}, "aliyun tencent", push.Sent},
		"channel throttled": {&push.Failure{Class: push.Throttled, Scope: push.ScopeChannel}, "aliyun tencent", push.Sent},
		"quota of the account": {
			&push.Failure{Class: push.Throttled, Scope: push.ScopeAccount}, "aliyun tencent", push.Sent,
		},
		"account stop":     {&push.Failure{Class: push.Account, Scope: push.ScopeAccount}, "aliyun tencent", push.Sent},
		"template stop":    {&push.Failure{Class: push.Account, Scope: push.ScopeTemplate}, "aliyun tencent", push.Sent},
		"recipient's":      {&push.Failure{Class: push.Throttled, Scope: push.ScopeRecipient}, "aliyun", push.Failed},
		"hours of the day": {&push.Failure{Class: push.Throttled, Scope: push.ScopeTemplate}, "aliyun", push.Failed},
		"permanent":        {&push.Failure{Class: push.Permanent}, "aliyun", push.Dead},
		"ambiguous":        {&push.Failure{Class: push.Ambiguous}, "aliyun", push.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			if err := handle(t, w.start(t, w.twoProviders(c.first, nil)), "sms"); err != nil {
				t.Fatal(err)
			}
			row := w.row(t)
			if got := w.sends(); got != c.sends || row.Status != c.want {
				t.Errorf("sent by %q, the row is %s; want %q and %s", got, row.Status, c.sends, c.want)
			}
			if len(w.sent) == 2 {
				switched, second := slices.Index(w.calls, "switch"), slices.Index(w.calls, "send tencent")
				if w.sent[0].Reference != w.sent[1].Reference || w.count("claim") != 1 || switched < 0 || switched > second {
					t.Errorf("calls %v: want one claim, one reference, and the switch written before the call", w.calls)
				}
				if row.Provider != "tencent" || row.Attempt != 2 {
					t.Errorf("the row says %s(%d), want tencent(2)", row.Provider, row.Attempt)
				}
			}
		})
	}
}

// In-turn order: the row gets the last failure, the shortest wait, and no third try.
func TestRuleP5BothRefuse(t *testing.T) {
	t.Parallel()
	busy := &push.Failure{Class: push.NotSent, Code: "busy"} // by backoff: 1 s
	throttled := &push.Failure{Class: push.Throttled, Scope: push.ScopeChannel, Code: "qps", Wait: 200 * time.Millisecond}
	stopped := &push.Failure{Class: push.Account, Scope: push.ScopeAccount, Code: "arrears", Wait: time.Hour}
	for name, c := range map[string]struct {
		first, second *push.Failure
		wait          time.Duration
	}{
		"account on all":                   {stopped, stopped, time.Hour},
		"the first one's wait is shorter":  {throttled, busy, 200 * time.Millisecond},
		"the second one's wait is shorter": {stopped, throttled, 200 * time.Millisecond},
		"backoff is shorter":               {stopped, busy, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			if err := handle(t, w.start(t, w.twoProviders(c.first, c.second)), "sms"); err != nil {
				t.Fatal(err)
			}
			last := w.recorded[len(w.recorded)-1]
			if w.sends() != "aliyun tencent" || len(w.recorded) != 1 {
				t.Fatalf("sent by %q, recorded %+v", w.sends(), w.recorded)
			}
			if last.Wait != c.wait || last.Class != c.second.Class || last.Code != c.second.Code || last.Provider != "tencent" || last.Attempt != 2 {
				t.Errorf("recorded %+v, want the second one's failure and a wait of %v", last, c.wait)
			}
		})
	}
}

func TestRuleP5AnswerLostIsFoundOut(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["switch"] = 2 // written, unanswered
	if err := handle(t, w.start(t, w.twoProviders(&push.Failure{Class: push.NotSent}, nil)), "sms"); err != nil {
		t.Fatal(err)
	}
	if row := w.row(t); row.Attempt != 2 || row.Status != push.Sent || w.sends() != "aliyun tencent" || w.count("switch") != 3 {
		t.Errorf("the row is %s(%d) after %v", row.Status, row.Attempt, w.calls)
	}
}

// The switch lands, and its answer is lost for so long that the row is swept: nothing of the second attempt has left.
func TestRuleP5SweptBeforeItIsAnsweredIsUndone(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.fail["switch"] = 1 // written, unanswered
	asked := 0
	w.takeSwitch = func() {
		if asked++; asked == 2 {
			w.byID(1).Status = push.Unknown
		}
	}
	if err := handle(t, w.start(t, w.twoProviders(&push.Failure{Class: push.NotSent}, nil)), "sms"); err != nil {
		t.Fatal(err)
	}
	if row := w.row(t); row.Attempt != 2 || row.Status != push.Failed || w.sends() != "aliyun" || w.count("undo") != 1 {
		t.Errorf("the row is %s(%d) after %v, want failed(2), due again, the second provider not called", row.Status, row.Attempt, w.calls)
	}
}

// A switch that is not granted (swept, past its time) leaves the first one's result to be written.
func TestRuleP5NotGranted(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.refuses = true
	if err := handle(t, w.start(t, w.twoProviders(&push.Failure{Class: push.NotSent}, nil)), "sms"); err != nil {
		t.Fatal(err)
	}
	if row := w.row(t); row.Attempt != 1 || row.Status != push.Failed || w.sends() != "aliyun" {
		t.Errorf("the row is %s(%d) after %v", row.Status, row.Attempt, w.calls)
	}
}

// While an earlier attempt is in doubt, no refusal of a later one takes the message elsewhere.
func TestRuleP5NeverWhileAnEarlierAttemptIsInDoubt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.takeOver = func(r *push.Row) { r.Ambiguous = true }
	if err := handle(t, w.start(t, w.twoProviders(&push.Failure{Class: push.NotSent}, nil)), "sms"); err != nil {
		t.Fatal(err)
	}
	if w.sends() != "aliyun" || w.count("switch") != 0 {
		t.Errorf("calls %v", w.calls)
	}
}

// The next provider stands behind a fence of its own, on the lease of the switch.
func TestRuleP5TheNextProviderIsFencedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := newClock()
	cfg := w.twoProviders(&push.Failure{Class: push.NotSent}, nil)
	cfg.Now = c.now
	w.takeSwitch = func() { c.pass(29500 * time.Millisecond) } // frozen between the switch and its answer
	if err := handle(t, w.start(t, cfg), "sms"); err != nil {
		t.Fatal(err)
	}
	if w.sends() != "aliyun" || w.count("undo") != 1 || w.row(t).Status != push.Failed {
		t.Errorf("calls %v: want the switched attempt undone", w.calls)
	}
}

// Told to stop, a turn ends with the first one's result: the next provider is for the next turn.
func TestRuleP5StoppingSwitchesNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld()
	cfg := w.twoProviders(nil, nil)
	var d *Deliverer
	cfg.Channels[push.SMS].Senders[0] = account{channel{w}, "aliyun", true, &push.Failure{Class: push.NotSent}, func() { d.Quiesce() }}
	d = w.start(t, cfg)
	if err := handle(t, d, "sms"); err != nil {
		t.Fatal(err)
	}
	if w.sends() != "aliyun" || w.row(t).Status != push.Failed {
		t.Errorf("calls %v, the row is %s", w.calls, w.row(t).Status)
	}
}

// terse is a provider whose own limit of a variable refuses the message.
type terse struct{ account }

func (terse) Writes(push.Message) bool { return false }

// A message that the next provider's own rules would refuse for good is not given to it: that would end what the first one
// may still send.
func TestAProviderThatCannotWriteTheMessageIsNotTried(t *testing.T) {
	t.Parallel()
	w := newWorld()
	cfg := w.twoProviders(nil, nil)
	cfg.Channels[push.SMS] = Channel{Timeout: time.Second, Senders: []Sender{
		account{channel{w}, "aliyun", true, &push.Failure{Class: push.NotSent}, nil},
		terse{account{channel{w}, "tencent", true, &push.Failure{Class: push.Permanent}, nil}},
	}}
	if err := handle(t, w.start(t, cfg), "sms"); err != nil {
		t.Fatal(err)
	}
	if w.sends() != "aliyun" || w.row(t).Status != push.Failed {
		t.Errorf("calls %v, the row is %s", w.calls, w.row(t).Status)
	}
}

func TestOnlyProvidersWithATemplateAreTried(t *testing.T) {
	t.Parallel()
	w := newWorld()
	cfg := w.twoProviders(nil, nil)
	cfg.Channels[push.SMS] = Channel{Timeout: time.Second, Senders: []Sender{
		account{channel{w}, "aliyun", true, &push.Failure{Class: push.NotSent}, nil}, account{channel{w}, "tencent", false, nil, nil},
	}}
	if err := handle(t, w.start(t, cfg), "sms"); err != nil {
		t.Fatal(err)
	}
	if w.sends() != "aliyun" || w.row(t).Status != push.Failed {
		t.Errorf("calls %v, the row is %s", w.calls, w.row(t).Status)
	}
}

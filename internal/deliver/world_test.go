package deliver

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/push"
)

// errAway is a dependency that does not answer.
var errAway = errors.New("away")

// world is Redis, PostgreSQL and the providers in memory: just enough of the rules to walk the pipeline. The real
// scripts and statements have their own suites.
type world struct {
	mu     sync.Mutex
	keys   map[string]push.KeyState
	owners map[string]string
	rows   map[string]*push.Row
	calls  []string // what was asked, in order: "claim", "intend", "send", ...
	sent   []push.Message

	fail       map[string]int                              // how often each call is not answered
	recorded   []push.Result                               // in order
	takeSwitch func()                                      // runs as a switch is written
	refuses    bool                                        // no switch is granted
	landed     bool                                        // an unanswered intent was written all the same
	answer     func(push.Message) (push.Acceptance, error) // the provider; nil: accepted
	provider   string
	takeOver   func(r *push.Row) // changes the row at the intent, e.g. another owner's
	renewed    func(row bool) push.KeyAnswer
}

func newWorld() *world {
	return &world{
		keys: map[string]push.KeyState{}, owners: map[string]string{}, rows: map[string]*push.Row{},
		fail: map[string]int{}, provider: "aliyun",
	}
}

// down notes a call and reports whether it is not to be answered; w.mu is held.
func (w *world) down(call string) bool {
	w.calls = append(w.calls, call)
	if w.fail[call] > 0 {
		w.fail[call]--
		return true
	}
	return false
}

func each[Q, A any](w *world, asks []Q, one func(Q) A) []A {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers := make([]A, len(asks))
	for i, q := range asks {
		answers[i] = one(q)
	}
	return answers
}

func (w *world) Claim(_ context.Context, claims []push.Claim) []push.Grant {
	return each(w, claims, func(c push.Claim) push.Grant {
		if w.down("claim") {
			return push.Grant{Err: errAway}
		}
		state, there := w.keys[c.Key]
		if !there {
			state = push.KeyAbsent
		}
		switch {
		case state == push.KeyProcessing && w.owners[c.Key] != c.Owner:
			return push.Grant{Verdict: push.Busy, Before: state, LeaseLeft: time.Millisecond}
		case state > push.KeyProcessing && c.Retry == nil:
			return push.Grant{Verdict: push.Duplicate, Before: state}
		}
		w.keys[c.Key], w.owners[c.Key] = push.KeyProcessing, c.Owner
		return push.Grant{Verdict: push.Granted, Before: state}
	})
}

func (w *world) Settle(_ context.Context, settles []push.KeySettle) []push.KeyAnswer {
	return each(w, settles, func(s push.KeySettle) push.KeyAnswer {
		if w.down("settle") {
			return push.KeyAnswer{Err: errAway}
		}
		if w.owners[s.Key] != s.Owner {
			return push.KeyAnswer{}
		}
		delete(w.owners, s.Key)
		if w.keys[s.Key] = s.State; s.State == push.KeyAbsent {
			delete(w.keys, s.Key)
		}
		return push.KeyAnswer{Mine: true}
	})
}

func (w *world) Release(_ context.Context, holds []push.KeyHold) []push.KeyAnswer {
	return each(w, holds, func(h push.KeyHold) push.KeyAnswer {
		if w.down("release") {
			return push.KeyAnswer{Err: errAway}
		}
		if w.owners[h.Key] == h.Owner {
			delete(w.owners, h.Key)
			delete(w.keys, h.Key)
		}
		return push.KeyAnswer{Mine: true}
	})
}

func (w *world) Renew(_ context.Context, holds []push.KeyHold) []push.KeyAnswer {
	return each(w, holds, func(push.KeyHold) push.KeyAnswer {
		if w.down("renew key") {
			return push.KeyAnswer{Err: errAway}
		}
		if w.renewed != nil {
			return w.renewed(false)
		}
		return push.KeyAnswer{Mine: true}
	})
}

func (w *world) Intend(_ context.Context, intents []push.Intent) []push.Answer {
	return each(w, intents, func(i push.Intent) push.Answer {
		if w.down("intend") {
			if w.landed {
				w.intend(i)
			}
			return push.Answer{Err: errAway}
		}
		return push.Answer{Row: w.intend(i)}
	})
}

func (w *world) intend(i push.Intent) push.Row {
	key := i.Delivery.Key()
	row, there := w.rows[key]
	switch {
	case !there && i.Delivery.Retry == nil:
		row = &push.Row{ID: int64(len(w.rows) + 1), Round: 1, Attempt: 1, Status: push.Sending, Owner: i.Owner, Provider: i.Provider}
		if i.Delivery.Skip != "" {
			row.Status = push.Skipped
		}
		w.rows[key] = row
	case !there:
		return push.Row{}
	case row.Status == push.Queued && i.Delivery.Retry != nil && row.Attempt == i.Delivery.Retry.Attempt:
		row.Status, row.Owner = push.Sending, i.Owner
	}
	if w.takeOver != nil {
		w.takeOver(row)
	}
	return *row
}

func (w *world) UndoLost(_ context.Context, intents []push.Intent) []push.Answer {
	return each(w, intents, func(i push.Intent) push.Answer {
		if w.down("undo lost") {
			return push.Answer{Err: errAway}
		}
		row := &push.Row{ID: 1, Round: 1, Attempt: 1, Status: push.Failed}
		w.rows[i.Delivery.Key()] = row
		return push.Answer{Row: *row}
	})
}

func (w *world) Look(_ context.Context, lookups []push.Lookup) []push.Answer {
	return each(w, lookups, func(l push.Lookup) push.Answer {
		if w.down("look") {
			return push.Answer{Err: errAway}
		}
		if row, there := w.rows[l.Key()]; there {
			return push.Answer{Row: *row}
		}
		return push.Answer{}
	})
}

func (w *world) byID(id int64) *push.Row {
	for _, r := range w.rows {
		if r.ID == id {
			return r
		}
	}
	return &push.Row{}
}

func (w *world) Record(_ context.Context, results []push.Result) []push.Answer {
	return each(w, results, func(r push.Result) push.Answer {
		if w.down("record") {
			return push.Answer{Err: errAway}
		}
		w.recorded = append(w.recorded, r)
		row := w.byID(r.ID)
		next := map[push.Class]push.Status{
			push.Accepted: push.Sent, push.Ambiguous: push.Unknown, push.Permanent: push.Dead,
			push.NotSent: push.Failed, push.Throttled: push.Failed, push.Account: push.Failed,
		}[r.Class]
		if row.Owner == r.Owner && row.Attempt == r.Attempt {
			row.Status = next
			row.Ambiguous = row.Ambiguous || next == push.Unknown
		}
		return push.Answer{Row: *row}
	})
}

func (w *world) Undo(_ context.Context, held []push.Held) []push.Answer {
	return each(w, held, func(h push.Held) push.Answer {
		if w.down("undo") {
			return push.Answer{Err: errAway}
		}
		row := w.byID(h.ID)
		if row.Owner == h.Owner && row.Attempt == h.Attempt {
			row.Status = push.Failed
		}
		return push.Answer{Row: *row}
	})
}

func (w *world) Repeat(_ context.Context, held []push.Held) []push.Answer {
	return each(w, held, func(h push.Held) push.Answer {
		if w.down("repeat") {
			return push.Answer{Err: errAway}
		}
		row := w.byID(h.ID)
		row.Status, row.Attempt = push.Sending, row.Attempt+1
		return push.Answer{Row: *row}
	})
}

func (w *world) Switch(_ context.Context, switches []push.Switch) []push.Answer {
	return each(w, switches, func(s push.Switch) push.Answer {
		lost := w.down("switch")
		if w.takeSwitch != nil {
			w.takeSwitch()
		}
		row := w.byID(s.ID)
		if row.Status == push.Sending && row.Owner == s.Owner && row.Attempt == s.Attempt && !w.refuses {
			row.Attempt++
			row.Provider = s.Next
		}
		if lost {
			return push.Answer{Err: errAway}
		}
		return push.Answer{Row: *row}
	})
}

// results is the world as Results: its Renew is the row's.
type results struct{ *world }

func (r results) Renew(_ context.Context, held []push.Held) []push.KeyAnswer {
	return each(r.world, held, func(push.Held) push.KeyAnswer {
		if r.down("renew row") {
			return push.KeyAnswer{Err: errAway}
		}
		if r.renewed != nil {
			return r.renewed(true)
		}
		return push.KeyAnswer{Mine: true}
	})
}

// channel is the world as a Sender.
type channel struct{ *world }

func (c channel) Provider() string { return c.provider }

func (channel) Serves(string) bool { return true }

func (channel) Enter(context.Context, push.Message) (leave func(error), err error) {
	return func(error) {}, nil
}

func (c channel) Send(_ context.Context, m push.Message) (push.Acceptance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down("send")
	c.sent = append(c.sent, m)
	if c.answer != nil {
		return c.answer(m)
	}
	return push.Acceptance{Provider: c.provider, MessageID: "m1"}, nil
}

// silent is a Meter that keeps nothing.
type silent struct{}

func (silent) Duplicate(push.Action, string)                          {}
func (silent) Attempt(push.Action, string, push.Class, time.Duration) {}
func (silent) Row(push.Action, string, push.Status)                   {}
func (silent) Switched(push.Action, string, string)                   {}
func (silent) LeaseLost(push.Action)                                  {}
func (silent) Ended(push.Action, push.Result)                         {}
func (silent) Takeover(push.Action)                                   {}

func (w *world) config() Config {
	c := channel{w}
	return Config{
		Pushes: map[string]Push{"viewed": {
			Rule:    push.Rule{BizType: "viewed", Window: time.Hour, Zone: time.UTC},
			Actions: []push.Action{push.SMS},
		}},
		RetryTopic: "retry", InFlight: 8, Waiting: 16, WaitingBytes: 1 << 20,
		Lease: 30 * time.Second, Window: time.Hour, Call: time.Second,
		Backoff:       push.Backoff{MaxAttempts: 3, First: time.Second, Factor: 2, Max: time.Minute},
		InlineRetries: 2,
		Channels: map[push.Action]Channel{
			push.SMS:    {Senders: []Sender{c}, Timeout: time.Second},
			push.WeChat: {Senders: []Sender{c}, Timeout: time.Second, ResendWithin: 9 * time.Minute},
			push.Notify: {Senders: []Sender{c}, Timeout: time.Second},
		},
		PhoneRegion: "CN", HashKey: []byte("k"), Worker: "test", Meter: silent{}, Log: zerolog.Nop(), Now: time.Now,
	}
}

// start runs a Deliverer on the world; it is closed with the test.
func (w *world) start(t *testing.T, cfg Config) *Deliverer {
	t.Helper()
	d := New(cfg, w, w, results{w})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return d
}

// handle feeds one event of one action and waits until it is done.
func handle(t *testing.T, d *Deliverer, action string) error {
	t.Helper()
	done := make(chan error, 1)
	if err := d.Handle(t.Context(), record(action), func(err error) { done <- err }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the record was never done")
		return nil
	}
}

func record(action string) push.Record {
	return push.Record{
		Origin: push.Origin{Topic: "main", Offset: 7, Time: time.Now()},
		Value: []byte(`{"biz_type":"viewed","biz_id":1,"actions":["` + action + `"],` +
			`"recipient":{"user_id":"u1","phone":"13800138000","openid":"oOPENID1234"},"params":{"company":"ACME"}}`),
	}
}

func (w *world) row(t *testing.T) push.Row {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.rows {
		return *r
	}
	t.Fatal("there is no row")
	return push.Row{}
}

func (w *world) count(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if c == call {
			n++
		}
	}
	return n
}

package e2e

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pusher/internal/config"
	"pusher/internal/fault"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// byBoth makes Aliyun the SMS provider and Tencent the one after it.
func byBoth(s *system) {
	templates := s.cfg.Pushes["resume_viewed"].Actions.SMS
	byTencent(s)
	p := s.cfg.Pushes["resume_viewed"]
	p.Actions.SMS = &config.SMSTemplates{Aliyun: templates.Aliyun, Tencent: p.Actions.SMS.Tencent}
	s.cfg.Pushes["resume_viewed"] = p
	s.cfg.Channels.SMS.Providers = []string{config.ProviderAliyun, config.ProviderTencent}
	s.cfg.Channels.SMS.AskFor = 20 * time.Second
	s.patient()
}

// sentBy is a row and what the providers' journal says of it.
type sentBy struct {
	Reference, Status, Provider string
	Retries                     int
	took                        map[string]int // by provider
}

// refereed reads every row with the journal's word on it, and checks what holds whatever happens: nobody got a message
// twice, what one provider has taken is no other's, and the row says who sent it.
func (s *system) refereed(n int) []sentBy {
	s.t.Helper()
	rows, err := s.db.Query(context.Background(), `SELECT reference, status, provider, retries_used FROM push_log WHERE action = 'sms'`)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, func(rec pgx.CollectableRow) (r sentBy, err error) {
		r.took = map[string]int{}
		return r, rec.Scan(&r.Reference, &r.Status, &r.Provider, &r.Retries)
	})
	if err != nil || len(list) != n {
		s.t.Fatalf("%d rows, want %d (%v)", len(list), n, err)
	}
	took := map[string]map[string]int{}
	for _, r := range list {
		took[r.Reference] = r.took
	}
	for _, e := range s.sandbox.Journal().Entries() {
		if took[e.Reference] == nil {
			s.t.Fatalf("%s took a message of no row", e.Provider)
		}
		took[e.Reference][e.Provider]++
	}
	if twice := s.sandbox.Journal().Twice(); len(twice) > 0 {
		s.t.Errorf("taken twice: %v", twice)
	}
	for _, r := range list {
		if r.Status == string(push.Sent) && r.took[r.Provider] != 1 {
			s.t.Errorf("sent by %s, says the row; the providers took %v", r.Provider, r.took)
		}
	}
	return list
}

// over waits until nothing is under way any more.
func (s *system) over(n int) {
	s.t.Helper()
	s.eventually("everything is sent, or in doubt and asked about", func() bool {
		s.pass()
		return s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'
			OR status = 'unknown' AND now() - coalesce(ambiguous_since, intent_at) > interval '8 s'`) == n
	})
}

// TestFailover_RefusedArriveByTheNextInDoubtNever: Aliyun refuses some, hangs on some, takes some and cuts the answer, all
// under load, and Tencent is well. What was refused arrives by Tencent at no cost of a retry; what is in doubt is asked
// about and never Tencent's; nobody gets anything twice, and nothing is lost.
func TestFailover_RefusedArriveByTheNextInDoubtNever(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 4)
	byBoth(s)
	s.faults(
		provider.Fault{Provider: provider.Aliyun, Share: 0.4, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"},
		provider.Fault{Provider: provider.Aliyun, Share: 0.15, Kind: provider.Stall},
		provider.Fault{Provider: provider.Aliyun, Share: 0.2, Kind: provider.AcceptThenCut},
		provider.Fault{Provider: provider.Aliyun, Share: 0.1, Kind: provider.AcceptThenStall},
	)
	s.run()
	s.run()
	const n = 300
	var values []string
	for i := range n {
		values = append(values, event(i, `"actions":["sms"],`))
	}
	s.write(values...)
	s.over(n)
	count := map[string]int{}
	for _, r := range s.refereed(n) {
		count[r.Status+" "+r.Provider]++
		switch {
		case r.Status == string(push.Unknown) && (r.Provider != provider.Aliyun || len(r.took) > 0):
			t.Errorf("in doubt by %s, taken by %v; want what hung at aliyun, and nobody's", r.Provider, r.took)
		case r.Provider == provider.Tencent && r.Retries > 0:
			t.Errorf("a switch used %d retries", r.Retries)
		}
	}
	t.Logf("%v, faults met %v", count, s.sandbox.Hits())
	byNext := count["sent tencent"]
	if asked := s.sandbox.Requests(provider.Tencent, provider.CallSend); asked != byNext || byNext < n/4 {
		t.Errorf("%d requests at tencent for %d messages", asked, byNext)
	}
	if count["sent aliyun"] == 0 || count["unknown aliyun"] != s.sandbox.Hits()[provider.Stall] {
		t.Errorf("%v; %d hung", count, s.sandbox.Hits()[provider.Stall])
	}
	if got := s.number(`SELECT count(*) FROM push_attempt WHERE outcome IN ('ambiguous', 'lost', 'accepted')`); got != 0 {
		t.Errorf("%d attempts were followed by another although they may have been taken", got)
	}
}

// TestFailover_HangingOrCuttingProvider: Aliyun answers nobody any more; in one case it takes everything all the same. What it
// was asked to send stays its own, in doubt until it tells; once its breaker is open the rest goes to Tencent. The first
// requests fail together: enough for the breaker to conclude from.
func TestFailover_HangingOrCuttingProvider(t *testing.T) {
	t.Parallel()
	for kind, taken := range map[provider.Kind]push.Status{provider.Stall: push.Unknown, provider.AcceptThenCut: push.Sent} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 2)
			byBoth(s)
			s.faults(provider.Fault{Provider: provider.Aliyun, Kind: kind})
			s.run()
			const n = 200
			for i := range n {
				s.write(event(i, `"actions":["sms"],`))
			}
			s.over(n)
			count := map[string]int{}
			for _, r := range s.refereed(n) {
				count[r.Status+" "+r.Provider]++
			}
			t.Logf("%v", count)
			own, next := count[string(taken)+" aliyun"], count["sent tencent"]
			if own == 0 || next == 0 || own+next != n {
				t.Errorf("%v: want aliyun's %s, and all others sent by tencent", count, taken)
			}
			if asked := s.sandbox.Requests(provider.Tencent, provider.CallSend); asked != next {
				t.Errorf("%d requests at tencent for %d messages", asked, next)
			}
		})
	}
}

// TestFailover_EachRefusalOfTheFirstOnesOwn: whatever it is that Aliyun does not want, Tencent sends it in the same turn; what
// concerns the recipient or the message is nobody else's.
func TestFailover_EachRefusalOfTheFirstOnesOwn(t *testing.T) {
	t.Parallel()
	for code, c := range map[string]struct {
		status   push.Status
		provider string
	}{
		"isp.SYSTEM_ERROR":            {push.Sent, provider.Tencent},
		"Throttling.User":             {push.Sent, provider.Tencent},
		"isv.AMOUNT_NOT_ENOUGH":       {push.Sent, provider.Tencent},
		"isv.SMS_TEMPLATE_ILLEGAL":    {push.Sent, provider.Tencent},
		"isv.DAY_LIMIT_CONTROL":       {push.Sent, provider.Tencent},
		"isv.NOBODY_KNOWS_THIS":       {push.Sent, provider.Tencent},
		"isv.BUSINESS_LIMIT_CONTROL":  {push.Failed, provider.Aliyun},
		"isv.MOBILE_NUMBER_ILLEGAL":   {push.Dead, provider.Aliyun},
		"isv.BLACK_KEY_CONTROL_LIMIT": {push.Dead, provider.Aliyun},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			byBoth(s)
			s.faults(provider.Fault{Provider: provider.Aliyun, Kind: provider.Refuse, Code: code})
			s.run()
			s.write(event(1, `"actions":["sms"],`))
			s.settled(1, c.status)
			row := s.refereed(1)[0]
			if row.Provider != c.provider || row.took[provider.Tencent] != map[bool]int{true: 1}[c.status == push.Sent] {
				t.Errorf("the row names %s, taken by %v; want %s", row.Provider, row.took, c.provider)
			}
			filed := s.number(`SELECT count(*) FROM push_attempt WHERE provider = 'aliyun' AND error_code = $1 AND attempt = 1`, code)
			if filed != row.took[provider.Tencent] {
				t.Errorf("%d refusals are filed", filed)
			}
		})
	}
}

// TestFailover_DeadProvider: nobody listens at Aliyun's address. All of it arrives by Tencent, without a pass of the
// compensator and without a retry used.
func TestFailover_DeadProvider(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	byBoth(s)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.cfg.Channels.SMS.Aliyun.Endpoint = "http://" + listener.Addr().String()
	_ = listener.Close()
	s.run()
	const n = 100
	for i := range n {
		s.write(event(i, `"actions":["sms"],`))
	}
	s.settled(n, push.Sent)
	for _, r := range s.refereed(n) {
		if r.Provider != provider.Tencent || r.Retries != 0 {
			t.Errorf("sent by %s with %d retries used", r.Provider, r.Retries)
		}
	}
	why := `SELECT count(*) FROM push_attempt WHERE provider = 'aliyun' AND (error_code = 'dial' AND outcome = 'not_sent'
		OR error_code = 'breaker_open' AND outcome = 'throttled' AND error_message LIKE '%dial%')`
	if got := s.number(why); got == 0 {
		t.Error("no row says why not aliyun")
	}
}

// TestFailover_HealthDecidesForNewMessages: once Aliyun's account is stopped, new messages go to Tencent at once.
func TestFailover_HealthDecidesForNewMessages(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	byBoth(s)
	s.faults(provider.Fault{Provider: provider.Aliyun, Kind: provider.Refuse, Code: "isv.OUT_OF_SERVICE"})
	s.run()
	s.write(event(0, `"actions":["sms"],`))
	s.settled(1, push.Sent)
	const n = 50
	for i := range n {
		s.write(event(i+1, `"actions":["sms"],`))
	}
	s.settled(1+n, push.Sent)
	s.refereed(1 + n)
	if got := s.number(`SELECT count(*) FROM push_log WHERE attempt = 1 AND provider = 'tencent'`); got != n {
		t.Errorf("%d of %d went to tencent at once", got, n)
	}
	if got := s.sandbox.Requests(provider.Aliyun, provider.CallSend); got != 1 {
		t.Errorf("%d requests at an account that is stopped", got)
	}
}

// TestFailover_KilledAroundTheSwitch: Aliyun refuses everything; one pusher dies before a switch is written, one after it, one
// of kill -9 in the midst of it. Nobody gets anything twice; what is not sent is in doubt, and says by whom.
func TestFailover_KilledAroundTheSwitch(t *testing.T) {
	t.Parallel()
	in := install(t, both())
	in.faults(provider.Fault{Provider: provider.Aliyun, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	n := 0
	more := func(events int) {
		var values []string
		for range events {
			values = append(values, event(n, `"actions":["sms"],`))
			n++
		}
		in.write(values...)
	}
	for _, point := range []fault.Point{fault.BeforeSwitch, fault.AfterSwitch} {
		more(10)
		in.pusher(fmt.Sprintf("%s=%s", point, fault.Die)).gone()
	}
	more(100)
	third := in.pusher("")
	in.eventually("some are sent", func() bool { return in.sandbox.Journal().Total(provider.Tencent) > 20 })
	third.Signal(syscall.SIGKILL)
	third.gone()
	more(20)
	fourth := in.pusher("")
	in.over(n)
	fourth.retire()
	count := map[string]int{}
	for _, r := range in.refereed(n) {
		count[r.Status+" "+r.Provider]++
	}
	t.Logf("%v", count)
	if count["sent tencent"] < 40 || count["sent aliyun"] > 0 {
		t.Errorf("%v: want what was not in the dead ones' hands sent by tencent", count)
	}
}

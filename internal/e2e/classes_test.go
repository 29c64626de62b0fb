package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/sandbox/local"
	"pusher/internal/sandbox/provider"
)

// answered is one way in which a provider's first answer can go, and how its delivery ends.
type answered struct {
	name  string
	fault provider.Fault // met by the first request only, unless it stays

	code string        // what the first attempt leaves in the log
	wait time.Duration // until it is due again; 0: not looked at

	first    push.Status // after the first attempt
	end      push.Status
	attempts int // in the end; as many requests reach the provider
	retries  int // used in the end
	accepted int
}

// spoken are the codes of one provider.
type spoken struct {
	unknown, passing, recipient, channel, permanent string

	words string        // beside recipient
	wait  time.Duration // of recipient
}

// refusals end alike with every provider: an unknown code and one that may pass are tried again, a limit costs nothing,
// what can never go is given up.
func refusals(c spoken) []answered {
	refuse := func(code, words string) provider.Fault {
		return provider.Fault{Kind: provider.Refuse, Code: code, Message: words}
	}
	again := func(name string, f provider.Fault, code string, retries int, wait time.Duration) answered {
		return answered{name: name, fault: f, code: code, wait: wait, first: push.Failed, end: push.Sent, attempts: 2, retries: retries, accepted: 1}
	}
	return []answered{
		again("an unknown code", refuse(c.unknown, "new"), c.unknown, 1, time.Second),
		again("a code that may pass", refuse(c.passing, "busy"), c.passing, 1, time.Second),
		again("a 429 without a code", provider.Fault{Kind: provider.Answer, Status: 429, Body: "slow down"}, "http_429", 1, time.Second),
		again("the channel's limit", refuse(c.channel, "too fast"), c.channel, 0, 5*time.Second),
		{
			name: "the recipient's limit", fault: refuse(c.recipient, c.words), code: c.recipient, wait: c.wait,
			first: push.Failed, end: push.Failed, attempts: 1,
		},
		{name: "a permanent code", fault: refuse(c.permanent, "never"), code: c.permanent, first: push.Dead, end: push.Dead, attempts: 1, retries: 1},
	}
}

// doubts are answers that leave open whether the message was taken: an SMS is held unless the provider lists it, WeChat
// is sent the same message again, which it takes once.
func doubts(harmless bool, timeout time.Duration) []answered {
	list := []answered{
		{name: "a garbage body", fault: provider.Fault{Kind: provider.Answer, Status: 200, Body: "<html>ok</html>"}, code: "answer_without_code"},
		{name: "an empty answer", fault: provider.Fault{Kind: provider.Answer, Status: 200, Body: "{}"}, code: "answer_without_code"},
		{name: "a 502 without a code", fault: provider.Fault{Kind: provider.Answer, Status: 502, Body: "bad gateway"}, code: "http_502"},
		{name: "no answer", fault: provider.Fault{Kind: provider.Stall}, code: "timeout"},
		{name: "a reset", fault: provider.Fault{Kind: provider.Reset}, code: "connection_lost"},
		{name: "accepted and cut", fault: provider.Fault{Kind: provider.AcceptThenCut}, code: "connection_lost", accepted: 1},
		{name: "accepted without an answer", fault: provider.Fault{Kind: provider.AcceptThenStall}, code: "timeout", accepted: 1},
		{name: "accepted late", fault: provider.Fault{Kind: provider.Late, Delay: provider.Duration(timeout + timeout/2)}, code: "timeout", accepted: 1},
	}
	for i := range list {
		o := &list[i]
		switch {
		case harmless:
			o.first, o.end, o.attempts, o.retries, o.accepted = push.Sent, push.Sent, 2, 1, 1
		case o.accepted == 1:
			o.first, o.end, o.attempts = push.Unknown, push.Sent, 1
		default:
			o.first, o.end, o.attempts = push.Unknown, push.Unknown, 1
		}
	}
	return list
}

// TestEachAnswerEndsAsTheProtocolSays: every class of answer, at each provider, through the whole pipeline.
func TestEachAnswerEndsAsTheProtocolSays(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	for name, c := range map[string]struct {
		action push.Action
		spoken spoken
	}{
		provider.Aliyun: {push.SMS, spoken{
			unknown: "isv.NOBODY_KNOWS_THIS", passing: "isp.SYSTEM_ERROR", channel: "Throttling.User", permanent: "isv.MOBILE_NUMBER_ILLEGAL",
			recipient: "isv.BUSINESS_LIMIT_CONTROL", words: "触发小时级流控Permits:5", wait: time.Hour,
		}},
		provider.Tencent: {push.SMS, spoken{
			unknown: "FailedOperation.NobodyKnowsThis", passing: "InternalError.OtherError", channel: "RequestLimitExceeded",
			permanent: "InvalidParameterValue.IncorrectPhoneNumber", recipient: "LimitExceeded.PhoneNumberOneHourLimit", wait: time.Hour,
		}},
		provider.WeChat: {push.WeChat, spoken{
			unknown: "99999", passing: "88888", channel: "", permanent: "43004", recipient: "43117", wait: 10 * time.Minute,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystemWith(t, 1, provider.Config{Queries: provider.Queries{Context: true}})
			s.patient()
			ch := &s.cfg.Channels
			ch.Notify.Timeout, ch.SMS.Timeout, ch.WeChat.Timeout = timeout, timeout, timeout
			ch.SMS.AskFor = 20 * time.Second
			s.cfg.Retry.First, s.cfg.Retry.Max = time.Second, time.Second
			if name == provider.Tencent {
				byTencent(s)
			}
			list := slices.Concat(refusals(c.spoken), doubts(c.action == push.WeChat, timeout))
			// WeChat's limit of the channel is a minute, for which the gate shuts: see TestAccountStopKeepsRowsForLater.
			list = slices.DeleteFunc(list, func(o answered) bool { return o.name == "the channel's limit" && c.spoken.channel == "" })
			var faults []provider.Fault
			for i, o := range list {
				o.fault.Provider, o.fault.Recipient, o.fault.Each = name, recipientOf(name, i), 1
				faults = append(faults, o.fault)
			}
			s.faults(faults...)
			s.run()
			for i := range list {
				s.write(event(i, fmt.Sprintf(`"actions":[%q],`, c.action)))
			}
			s.become(list, func(o answered) push.Status { return o.first }, func() {})
			for i, o := range list {
				s.checkFirst(i, o)
			}
			s.become(list, func(o answered) push.Status { return o.end }, func() { s.pass() })
			for range 2 {
				s.pass()
			}
			s.caughtUp()
			s.checkEnds(name, list)
		})
	}
}

// become waits until each row has the status that want names; meanwhile does what goes on.
func (s *system) become(list []answered, want func(answered) push.Status, meanwhile func()) {
	s.t.Helper()
	s.eventually("each as it should be", func() bool {
		meanwhile()
		ok := 0
		for i, o := range list {
			ok += s.number(`SELECT count(*) FROM push_log WHERE biz_id = $1 AND status = $2`, strconv.Itoa(i), string(want(o)))
		}
		return ok == len(list)
	})
}

// checkFirst looks at what the first attempt left.
func (s *system) checkFirst(id int, o answered) {
	s.t.Helper()
	var code string
	var wait float64
	if err := s.db.QueryRow(s.t.Context(), `
		SELECT coalesce(a.error_code, ''), coalesce(extract(epoch FROM l.next_attempt_at - l.updated_at), 0)::float8
		FROM push_log l JOIN push_timeline a ON a.delivery_id = l.id AND a.attempt = 1 WHERE l.biz_id = $1`, strconv.Itoa(id),
	).Scan(&code, &wait); err != nil {
		s.t.Fatal(err)
	}
	if code != o.code || o.wait > 0 && (wait < o.wait.Seconds()*0.99 || wait > o.wait.Seconds()*1.01) {
		s.t.Errorf("%s: code %q, due after %.1f s; want %q, %v", o.name, code, wait, o.code, o.wait)
	}
}

// checkEnds looks at each row, at the requests and at what was accepted, once everything has come to its end.
func (s *system) checkEnds(name string, list []answered) {
	s.t.Helper()
	accepted := map[string]int{}
	for _, e := range s.sandbox.Journal().Entries() {
		accepted[e.Recipient]++
	}
	requests := 0
	for i, o := range list {
		var status string
		var attempt, retries int
		if err := s.db.QueryRow(s.t.Context(), `SELECT status, attempt, retries_used FROM push_log WHERE biz_id = $1`, strconv.Itoa(i)).
			Scan(&status, &attempt, &retries); err != nil {
			s.t.Fatal(err)
		}
		got := accepted[recipientOf(name, i)]
		if status != string(o.end) || attempt != o.attempts || retries != o.retries || got != o.accepted {
			s.t.Errorf("%s: %s at attempt %d with %d retries used, accepted %d times; want %s, %d, %d, %d",
				o.name, status, attempt, retries, got, o.end, o.attempts, o.retries, o.accepted)
		}
		requests += o.attempts
	}
	if got := s.sandbox.Requests(name, provider.CallSend); got != requests {
		s.t.Errorf("%d requests, want %d", got, requests)
	}
	if got := s.number(`SELECT count(*) FROM push_log WHERE letter_due`); got != 0 {
		s.t.Errorf("%d letters are not written", got)
	}
}

// TestAccountStopKeepsRowsForLater: a stop of the account, or a limit of the channel that lasts, is met once; what follows
// is kept back without asking. No retry is used, and no other channel minds.
func TestAccountStopKeepsRowsForLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider, code string
		action         push.Action
	}{
		"aliyun's balance":     {provider.Aliyun, "isv.AMOUNT_NOT_ENOUGH", push.SMS},
		"tencent's balance":    {provider.Tencent, "FailedOperation.InsufficientBalanceInSmsPackage", push.SMS},
		"wechat's permission":  {provider.WeChat, "48001", push.WeChat},
		"wechat's daily limit": {provider.WeChat, "45009", push.WeChat},
		"wechat's minute":      {provider.WeChat, "45011", push.WeChat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			s.patient()
			if c.provider == provider.Tencent {
				byTencent(s)
			}
			s.faults(provider.Fault{Provider: c.provider, Kind: provider.Refuse, Code: c.code})
			s.run()
			s.write(event(0, ""))
			s.eventually("the stop is met", func() bool { return s.statuses()[string(c.action)+" failed"] == 1 })
			const n = 20
			for i := range n {
				s.write(event(i+1, ""))
			}
			s.eventually("the others are kept, and the other channels go on", func() bool {
				got := s.statuses()
				return got[string(c.action)+" failed"] == n+1 && s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == 2*(n+1)
			})
			for range 2 {
				s.pass()
			}
			s.caughtUp()
			if got := s.sandbox.Requests(c.provider, provider.CallSend); got != 1 {
				t.Errorf("%d requests, want the one that met the stop", got)
			}
			if got := s.number(`SELECT count(*) FROM push_log WHERE status = 'failed' AND retries_used = 0 AND error_code = $1
				AND next_attempt_at > now()`, c.code); got != n+1 {
				t.Errorf("%d rows wait without having used a retry, want %d", got, n+1)
			}
		})
	}
}

// TestFieldReport28_ConnectionRefusedIsRetried: nobody listens at the provider's address; that is no doubt. What surely
// did not leave is sent once somebody does.
func TestFieldReport28_ConnectionRefusedIsRetried(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.patient()
	port, err := local.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	nowhere := "127.0.0.1:" + strconv.Itoa(port)
	s.cfg.Channels.SMS.Aliyun.Endpoint = "http://" + nowhere
	s.run()
	const n = 5
	for i := range n {
		s.write(event(i, `"actions":["sms"],`))
	}
	s.settled(n, push.Failed)
	if got := s.number(`SELECT count(*) FROM push_log WHERE error_code LIKE '%dial' AND retries_used = 1 AND ambiguous_since IS NULL`); got != n {
		t.Errorf("%d rows say that nothing left, want %d", got, n)
	}
	if s.sandbox, err = provider.New(provider.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := s.sandbox.Start(nowhere); err != nil {
		t.Fatal(err)
	}
	box := s.sandbox
	t.Cleanup(func() { _ = box.Close() })
	s.sentInTheEnd(n)
	s.caughtUp()
	s.accepted(n)
	if got := s.number(`SELECT count(*) FROM push_attempt WHERE outcome = 'not_sent'`); got < n || strings.Contains(fmt.Sprint(s.statuses()), "unknown") {
		t.Errorf("%d attempts did not leave; the log says %v", got, s.statuses())
	}
}

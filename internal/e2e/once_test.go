package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// TestEachDeliveryOnce: two instances, 300 events for three channels, a tenth of them written twice and a twentieth
// once more under another event id.
func TestEachDeliveryOnce(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 4)
	first, _ := s.run()
	second, _ := s.run()
	var values []string
	noPhone := 0
	for i := range 300 {
		v := event(i, "")
		if i%50 == 49 {
			v = strings.Replace(v, `"phone":`, `"fax":`, 1)
			noPhone++
		}
		values = append(values, v)
		if i%10 == 0 {
			values = append(values, v)
		}
		if i%20 == 0 {
			values = append(values, strings.Replace(v, `"event_id":"e`, `"event_id":"again-`, 1))
		}
	}
	rand.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	s.write(values...)

	s.settled(900-noPhone, push.Sent)
	s.settled(noPhone, push.Skipped)
	s.eventually("lag 0", func() bool { return s.lag() == 0 })
	if got := s.sandbox.Journal().Total(""); got != 600-noPhone {
		t.Errorf("%d accepted sends at the providers, want %d", got, 600-noPhone)
	}
	if twice := s.sandbox.Journal().Twice(); len(twice) > 0 {
		t.Errorf("sent twice: %v", twice)
	}
	if got := s.number(`SELECT count(*) FROM inbox_message`); got != 300 {
		t.Errorf("%d in-app messages, want 300", got)
	}
	stopped := first.Stopped().Redis + second.Stopped().Redis + first.Stopped().Row + second.Stopped().Row
	if want := 45*3 - 0; stopped < want-3*noPhone || stopped > want+len(values) {
		t.Errorf("%d duplicates stopped, want about %d", stopped, want)
	}
}

// TestRefusedComeBackOnce: every SMS is refused twice, comes back through the compensator and arrives once.
func TestRefusedComeBackOnce(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 2)
	if err := s.sandbox.SetFaults([]provider.Fault{
		{Provider: provider.Aliyun, Each: 2, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR", Message: "busy"},
	}); err != nil {
		t.Fatal(err)
	}
	s.run()
	const n = 20
	for i := range n {
		s.write(event(i, `"actions":["sms"],`))
	}
	s.eventually("all sent", func() bool {
		s.pass()
		return s.statuses()["sms sent"] == n
	})
	if got := s.number(`SELECT count(*) FROM push_log WHERE attempt = 3 AND retries_used = 2`); got != n {
		t.Errorf("%d rows at attempt 3 with two retries used, want %d", got, n)
	}
	// Waits of 200 ms and 400 ms, none shorter.
	short := s.number(`
		SELECT count(*) FROM (
			SELECT attempt, started_at - lag(finished_at) OVER (PARTITION BY delivery_id ORDER BY attempt) AS waited
			FROM push_timeline) w
		WHERE attempt = 2 AND waited < interval '200 ms' OR attempt = 3 AND waited < interval '400 ms'`)
	if short != 0 {
		t.Errorf("%d attempts came before their backoff", short)
	}
	if got := s.sandbox.Journal().Total(provider.Aliyun); got != n || len(s.sandbox.Journal().Twice()) > 0 {
		t.Errorf("%d accepted, twice %v; want %d once each", got, s.sandbox.Journal().Twice(), n)
	}
}

// TestTimedOutIsAskedAbout: the provider takes the SMS and does not answer; the query finds it, nothing is sent again.
func TestTimedOutIsAskedAbout(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.cfg.Channels.SMS.AskFor = 20 * time.Second
	if err := s.sandbox.SetFaults([]provider.Fault{{Provider: provider.Aliyun, Kind: provider.AcceptThenStall}}); err != nil {
		t.Fatal(err)
	}
	s.run()
	s.write(event(1, `"actions":["sms"],`))
	s.settled(1, push.Unknown)
	s.eventually("found", func() bool { return s.pass().Found == 1 })
	s.settled(1, push.Sent)
	if got := s.sandbox.Requests(provider.Aliyun, provider.CallSend); got != 1 {
		t.Errorf("%d send requests, want 1", got)
	}
}

// TestSameFactAfterItsWindowIsNews: inside the window a duplicate, after it the next round.
func TestSameFactAfterItsWindowIsNews(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.cfg.Dedup.Window = 5 * time.Second
	p := s.cfg.Pushes["resume_viewed"]
	p.Dedup.Window = s.cfg.Dedup.Window
	s.cfg.Pushes["resume_viewed"] = p
	pusher, _ := s.run()
	s.write(event(7, ""))
	s.settled(3, push.Sent)
	s.write(event(7, ""))
	s.eventually("the duplicates stopped", func() bool { return pusher.Stopped().Redis+pusher.Stopped().Row >= 3 })
	s.eventually("the window over", func() bool {
		return s.number(`SELECT count(*) FROM push_log WHERE settled_at + interval '5200 ms' < now()`) == 3
	})
	s.write(event(7, ""))
	s.settled(6, push.Sent)
	if got := s.number(`SELECT count(*) FROM push_log WHERE round = 2`); got != 3 {
		t.Errorf("%d rows of round 2, want 3", got)
	}
	id := push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "7", Action: push.SMS}
	for round := 1; round <= 2; round++ {
		if got := s.sandbox.Journal().Count(id.Reference(round)); got != 1 {
			t.Errorf("round %d was accepted %d times, want once", round, got)
		}
	}
}

// TestExpiredAndDeferred: what is too late is never sent, what is too early waits.
func TestExpiredAndDeferred(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.run()
	due := time.Now().Add(2 * time.Second)
	s.write(
		event(1, fmt.Sprintf(`"expires_at":%q,`, time.Now().Add(-time.Second).Format(time.RFC3339Nano))),
		event(2, fmt.Sprintf(`"not_before":%q,`, due.Format(time.RFC3339Nano))),
	)
	s.settled(3, push.Expired)
	s.settled(3, push.Deferred)
	s.eventually("the deferred sent", func() bool {
		s.pass()
		return s.number(`SELECT count(*) FROM push_log WHERE status = 'sent'`) == 3
	})
	if got := s.number(`SELECT count(*) FROM push_log WHERE sent_at < $1`, due); got != 0 {
		t.Errorf("%d deliveries were sent before their time", got)
	}
	if got := s.sandbox.Journal().Total(""); got != 2 {
		t.Errorf("%d accepted sends, want 2", got)
	}
}

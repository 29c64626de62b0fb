package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// refused makes a system in which n SMS were refused once and are due.
func refused(t *testing.T, n int) *system {
	t.Helper()
	s := newSystem(t, 2)
	s.patient()
	s.cfg.Retry.First = 2 * time.Second
	s.faults(provider.Fault{Each: 1, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	_, stop := s.run()
	var values []string
	for i := range n {
		values = append(values, event(i, `"actions":["sms"],`))
	}
	s.write(values...)
	s.settled(n, push.Failed)
	s.caughtUp()
	stop()
	s.eventually("all due", func() bool { return s.number(`SELECT count(*) FROM push_log WHERE next_attempt_at <= now()`) == n })
	return s
}

// retryMessages is how many records the retry topic holds.
func (s *system) retryMessages() int64 {
	s.t.Helper()
	var n int64
	for _, end := range s.ends(s.cfg.Kafka.RetryTopic) {
		n += end
	}
	return n
}

// TestFieldReport12_TwoCompensatorsAtOnce: they share the work, and publish each row once.
func TestFieldReport12_TwoCompensatorsAtOnce(t *testing.T) {
	t.Parallel()
	const n = 300
	s := refused(t, n)
	var both sync.WaitGroup // waited for below
	for range 2 {
		both.Go(func() {
			for range 3 {
				if _, err := s.passAs(s.cfg); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if got := s.retryMessages(); got != n {
		t.Errorf("%d retry messages for %d rows", got, n)
	}
	s.run()
	s.sentInTheEnd(n)
	s.caughtUp()
	s.accepted(n)
	if got := s.number(`SELECT count(*) FROM push_log WHERE retries_used = 1`); got != n {
		t.Errorf("%d rows count their refusal once, want %d", got, n)
	}
}

// TestFieldReport10b_12_CompensatorDiesAfterPublishing: it has published and cannot note it any more; its rows become
// eligible again, and what comes twice is sent once.
func TestFieldReport10b_12_CompensatorDiesAfterPublishing(t *testing.T) {
	t.Parallel()
	const n = 20
	s := refused(t, n)
	s.cfg.Dedup.Lease = 4 * time.Second // the patience is two of them
	ch := &s.cfg.Channels
	ch.Notify.Timeout, ch.SMS.Timeout, ch.WeChat.Timeout = 2*time.Second, 2*time.Second, 2*time.Second
	l, dying := s.postgresLine()
	l.losing(func(request []byte) bool {
		if everyNth(1, "SET published_at = now()")(request) && everyNth(1, "unnest($")(request) {
			_ = l.Close() // nobody gets through any more: the process is dead
			return true
		}
		return false
	})
	if sum, err := s.passAs(dying); err == nil || sum.Requeued != n {
		t.Errorf("the pass that dies says %+v, %v", sum, err)
	}
	// The note itself may have arrived before the end, so that the rows wait for their messages to go unanswered.
	if got := s.retryMessages(); got < n {
		t.Errorf("%d retry messages, want %d", got, n)
	}
	if _, err := s.db.Exec(t.Context(), `UPDATE push_log SET published_at = NULL`); err != nil { // as if it had not
		t.Fatal(err)
	}
	s.eventually("published again", func() bool { s.pass(); return s.retryMessages() >= 2*n })
	s.run()
	s.sentInTheEnd(n)
	s.caughtUp()
	s.accepted(n)
	if got := s.number(`SELECT count(*) FROM push_log WHERE retries_used = 1`); got != n {
		t.Errorf("%d rows count their refusal once, want %d", got, n)
	}
}

// TestFieldReport13_RetriesEnd: a doomed delivery is tried max_attempts times, over restarts, with growing gaps; then
// it is dead, with one letter and no further message.
func TestFieldReport13_RetriesEnd(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.patient()
	s.cfg.Retry.MaxAttempts, s.cfg.Retry.Inline = 5, 0
	s.faults(provider.Fault{Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	_, stop := s.run()
	s.write(event(1, `"actions":["sms"],`))
	for attempt := 1; attempt < 5; attempt++ {
		s.eventually(fmt.Sprintf("attempt %d", attempt+1), func() bool {
			s.pass()
			return s.sandbox.Requests(provider.Aliyun, provider.CallSend) > attempt // a slow pass may see two at once
		})
		stop()
		_, stop = s.run()
	}
	s.eventually("given up", func() bool { s.pass(); return s.statuses()["sms dead"] == 1 })
	s.deadLetters(1)
	messages := s.retryMessages()
	for range 3 {
		s.pass()
	}
	s.caughtUp()
	if got := s.sandbox.Requests(provider.Aliyun, provider.CallSend); got != 5 {
		t.Errorf("%d calls, want 5", got)
	}
	if got := s.retryMessages(); got != messages || s.ends(s.cfg.Kafka.DeadLetterTopic)[0] != 1 {
		t.Errorf("%d retry messages after the end, %d before; %d letters", got, messages, s.ends(s.cfg.Kafka.DeadLetterTopic)[0])
	}
	if got := s.number(`SELECT count(*) FROM (SELECT started_at - lag(finished_at) OVER (ORDER BY attempt) AS gap, attempt
		FROM push_timeline) g WHERE gap < least(interval '200 ms' * 2 ^ (attempt - 2), interval '2 s')`); got != 0 {
		t.Errorf("%d attempts came before their backoff", got)
	}
}

// TestFieldReport15_LateIsNeverSent: the provider is down for longer than an event is valid. That one expires, one
// without an end is sent, and the time that counts is the event's own.
func TestFieldReport15_LateIsNeverSent(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.patient()
	s.faults(provider.Fault{Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
	s.run()
	expiry := time.Now().Add(6 * time.Second)
	s.write(event(1, fmt.Sprintf(`"actions":["sms"],"expires_at":%q,`, expiry.Format(time.RFC3339Nano))), event(2, `"actions":["sms"],`))
	s.settled(2, push.Failed)
	// It is re-queued in time, and its message comes too late.
	s.eventually("over", func() bool { return s.number(`SELECT count(*) FROM push_log WHERE expires_at < now()`) == 1 })
	s.faults()
	s.eventually("each at its end", func() bool {
		s.pass()
		got := s.statuses()
		return got["sms expired"] == 1 && got["sms sent"] == 1
	})
	s.caughtUp()
	s.accepted(1)
}

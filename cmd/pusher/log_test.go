package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"pusher/internal/push"
	"pusher/internal/store"
	"pusher/internal/testbed"
)

// filled puts three deliveries into the push log: one sent, one failed, one whose outcome is not known.
func (s services) filled(t *testing.T) {
	t.Helper()
	log, err := store.Open(t.Context(), store.Config{URL: s.postgres})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	outcomes := []push.Result{
		{Class: push.Accepted, Provider: "wechat", MessageID: "m1"},
		{Class: push.NotSent, Provider: "aliyun", Code: "dial", Message: "refused", Wait: time.Minute},
		{Class: push.Ambiguous, Provider: "tencent", Code: "timeout"}, // after aliyun refused
	}
	for i, result := range outcomes {
		action, owner := push.SMS, push.NewOwner()
		if i == 0 {
			action = push.WeChat
		}
		bizID := strconv.Itoa(10248 + i)
		intended := log.Intend(t.Context(), []push.Intent{{
			Delivery: &push.Delivery{
				Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: bizID, Action: action},
				BizID:    bizID,
				Event:    &push.Event{BizType: "resume_viewed", BizID: bizID, Raw: []byte("{}")},
				Origin:   push.Origin{Topic: s.topic, Partition: 1, Offset: 42, Time: time.Now()}, Window: time.Hour,
			},
			Owner: owner, Lease: time.Minute, Provider: first(result), MaxAttempts: 8, Worker: "host-1",
			Recipient: push.Mask("+8613800138000"), RecipientFull: "+8613800138000",
		}})[0]
		if intended.Err != nil || !intended.Row.MayBeSent(owner) {
			t.Fatalf("got %+v", intended)
		}
		result.ID, result.Owner, result.Attempt = intended.Row.ID, owner, intended.Row.Attempt
		if result.Provider == "tencent" {
			refused := push.Result{ID: result.ID, Owner: owner, Attempt: 1, Class: push.Account, Code: "isv.OUT_OF_SERVICE"}
			if answer := log.Switch(t.Context(), []push.Switch{{Result: refused, Next: "tencent", Lease: time.Minute}})[0]; answer.Row.Attempt != 2 {
				t.Fatalf("switched to %+v", answer)
			}
			result.Attempt = 2
		}
		if answer := log.Record(t.Context(), []push.Result{result})[0]; answer.Err != nil {
			t.Fatal(answer.Err)
		}
		if err := log.Hint(t.Context(), []push.Hint{{ID: result.ID, Attempt: 2, Text: "tencent reports 1"}}); err != nil {
			t.Fatal(err)
		}
	}
}

// first is the provider that an intent names: of what tencent sent, aliyun.
func first(r push.Result) string {
	if r.Provider == "tencent" {
		return "aliyun"
	}
	return r.Provider
}

func TestLogListShowStats(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	s.filled(t)
	conf := s.config(t)
	key := "push:dedup:resume_viewed:10249:sms"
	if err := s.client(t).Set(t.Context(), key, "garbage", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		says []string
		not  string
	}{
		"list":           {[]string{"log", "list"}, []string{"STATUS", "10248", "sent", "10249", "failed", "dial", "10250", "unknown"}, "13800138000"},
		"list by status": {[]string{"log", "list", "--status", "failed,unknown"}, []string{"10249", "10250"}, "10248"},
		"list by action": {[]string{"log", "list", "--action", "wechat", "--biz-type", "resume_viewed"}, []string{"10248"}, "10249"},
		"list of nobody": {[]string{"log", "list", "--user-id", "nobody", "--since", "1h", "--json"}, []string{"[]"}, "null"},
		"list in JSON":   {[]string{"log", "list", "--json", "--biz-id", "10248"}, []string{`"status": "sent"`, `"offset": 42`, `"key": "push:dedup:resume_viewed:10248:wechat"`}, "lease_until"},
		"stats":          {[]string{"log", "stats"}, []string{"ACTION", "wechat  sent", "sms     failed   aliyun    dial     1"}, "10248"},
		"stats of now":   {[]string{"log", "stats", "--now"}, []string{"NOW", "unknown               1"}, "10248"},
		"now in JSON":    {[]string{"log", "stats", "--now", "--json"}, []string{`"unknown": 1`, `"oldest_due_seconds"`}, "10248"},
		"stats in JSON":  {[]string{"log", "stats", "--json", "--since", "1h"}, []string{`"status": "unknown"`, `"count": 1`}, "10248"},
		"show by name":   {[]string{"log", "show", "resume_viewed", "10249", "sms"}, []string{key, "status     failed: attempt 1 certainly did not reach", "error      dial: refused", "+86", s.topic + "/1@42", "re-enqueues it after", "not_sent", "host-1", "something else stands under this key"}, "13800138000"},
		"show by key":    {[]string{"log", "show", "push:dedup:resume_viewed:10250:sms"}, []string{"unknown", "unknown: attempt 2 may have reached the recipient", "route      perhaps sent by tencent; aliyun refused: isv.OUT_OF_SERVICE", "hint       tencent reports 1", "is asked until ", "; then it is held for an operator", "in 72h", "absent: the push log alone decides"}, "13800138000"},
		"show in JSON":   {[]string{"log", "show", "resume_viewed", "10248", "wechat", "--json"}, []string{`"next": "nothing: it is done`, `"means": "the provider took it"`, `"reference": "`, `"outcome": "accepted"`, `"worker": "host-1"`}, "13800138000"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(t.Context(), "", append(c.args, "--config", conf)...)
			if got.code != 0 || strings.Contains(got.stdout, c.not) {
				t.Errorf("got %+v", got)
			}
			for _, want := range c.says {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("no %q in\n%s", want, got.stdout)
				}
			}
			if strings.Contains(name, "JSON") && !json.Valid([]byte(got.stdout)) {
				t.Errorf("no JSON: %s", got.stdout)
			}
		})
	}
}

func TestLogShowOfNothingExits1(t *testing.T) {
	t.Parallel()
	conf := onServices(t).config(t)
	for _, name := range [][]string{{"4711"}, {"push:dedup:resume_viewed:1:sms"}, {"resume_viewed", "1", "sms"}} {
		got := execute(t.Context(), "", append(append([]string{"log", "show"}, name...), "--config", conf)...)
		if got.code != 1 || !strings.Contains(got.stderr, "no such delivery in the push log") {
			t.Errorf("%v: got %+v", name, got)
		}
	}
}

func TestLogOfADatabaseWithoutSchemaNamesTheCommand(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	s.postgres = testbed.EmptyPostgres(t)
	got := execute(t.Context(), "", "log", "list", "--config", s.config(t))
	if got.code != 1 || !strings.Contains(got.stderr, "run pusher migrate up") {
		t.Errorf("got %+v", got)
	}
}

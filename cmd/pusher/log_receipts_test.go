package main

import (
	"strings"
	"testing"

	"pusher/internal/push"
	"pusher/internal/store"
)

func TestLogShowsReceipts(t *testing.T) {
	t.Parallel()
	s := onServices(t)
	s.filled(t)
	conf := s.config(t)
	log, err := store.Open(t.Context(), store.Config{URL: s.postgres})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	sms := push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: "10250", Action: push.SMS}
	failed := push.Receipt{
		Provider: "tencent", Report: push.ReportUndelivered, Reference: sms.Reference(1), Code: "MK:0001", Message: "off",
		Raw: "{}", Digest: []byte{1},
	}
	if _, err := log.KeepReceipts(t.Context(), []push.Receipt{
		failed, failed, {Provider: "wechat", Report: push.ReportDelivered, MessageID: "m1", Raw: "<xml/>", Digest: []byte{2}},
	}); err != nil {
		t.Fatal(err)
	}
	if matched, _, err := log.MatchReceipts(t.Context(), 10, nil); err != nil || len(matched) != 2 {
		t.Fatalf("matched %+v, %v", matched, err)
	}
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"show":         {[]string{"log", "show", "resume_viewed", "10250", "sms"}, []string{"status     undelivered", "MK:0001: off", "RECEIPT", "undelivered  MK:0001  settled  1         off"}},
		"show in JSON": {[]string{"log", "show", "resume_viewed", "10248", "wechat", "--json"}, []string{`"status": "delivered"`, `"receipts": [`, `"effect": "settled"`}},
		"none in JSON": {[]string{"log", "show", "resume_viewed", "10249", "sms", "--json"}, []string{`"receipts": []`}},
		"stats":        {[]string{"log", "stats"}, []string{"wechat  delivered", "sms     undelivered  tencent   MK:0001  1"}},
	} {
		got := execute(t.Context(), "", append(c.args, "--config", conf)...)
		if got.code != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		for _, want := range c.says {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got.stdout)
			}
		}
	}
}

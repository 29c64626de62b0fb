package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pusher/internal/config"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// home is the number of event id as Aliyun sees it.
func home(id int) string { return strings.TrimPrefix(phone(id), "+86") }

// TestFieldReport27_EachWaitIsHonouredAndCostsNothing: one code, three limits, told apart by its words; each row waits for its
// own, with no attempt burnt. A stop of the account keeps rows as well. OK means accepted, and no more.
func TestFieldReport27_EachWaitIsHonouredAndCostsNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	s.patient()
	limit := func(id int, words string) provider.Fault {
		return provider.Fault{Provider: provider.Aliyun, Recipient: home(id), Kind: provider.Refuse, Code: "isv.BUSINESS_LIMIT_CONTROL", Message: words}
	}
	s.faults(limit(1, "触发分钟级流控Permits:1"), limit(2, "触发小时级流控Permits:5"), limit(3, "触发天级流控Permits:10"),
		provider.Fault{Provider: provider.Aliyun, Recipient: home(5), Kind: provider.Refuse, Code: "isv.AMOUNT_NOT_ENOUGH"})
	s.run()
	for id := range 5 {
		s.write(event(id, `"actions":["sms"],`))
	}
	s.settled(2, push.Sent)
	s.settled(3, push.Failed)
	s.write(event(5, `"actions":["sms"],`)) // the last: it shuts the gate
	s.settled(4, push.Failed)
	for id, wait := range map[int]string{1: "1 min", 2: "1 h", 3: "24 h"} {
		if got := s.number(`SELECT count(*) FROM push_log WHERE biz_id = $1 AND next_attempt_at - finished_at = $2::interval`, strconv.Itoa(id), wait); got != 1 {
			t.Errorf("event %d is not due again after %s", id, wait)
		}
	}
	for range 3 {
		s.pass()
	}
	if got := s.number(`SELECT count(*) FROM push_log WHERE status = 'failed' AND attempt = 1 AND retries_used = 0`); got != 4 {
		t.Errorf("%d rows wait at their first attempt with no retry used, want 4", got)
	}
	if got := s.number(`SELECT count(*) FROM push_log WHERE status = 'sent' AND provider_msg_id <> ''`); got != 2 {
		t.Errorf("%d rows are sent and name the provider's id, want 2", got)
	}
}

// TestFieldReport29_BadParamsEndTheirOwnChannelOnly: what the template cannot take ends the SMS before any call; in-app and
// WeChat messages of the same event go out.
func TestFieldReport29_BadParamsEndTheirOwnChannelOnly(t *testing.T) {
	t.Parallel()
	s := newSystem(t, 1)
	byBoth(s)
	p := s.cfg.Pushes["resume_viewed"]
	p.Actions.SMS = &config.SMSTemplates{
		Aliyun:  &config.AliyunTemplate{Template: "SMS_10001", Params: map[string]string{"code": "{{.code}}"}},
		Tencent: &config.TencentTemplate{Template: "20001", Params: []string{"{{.code}}"}},
	}
	s.cfg.Pushes["resume_viewed"] = p
	s.cfg.Channels.SMS.Tencent.MaxVariable = 35
	s.run()
	with := func(id int, code string) string {
		return strings.Replace(event(id, ""), `"params":{`, `"params":{`+code, 1)
	}
	s.write(with(1, ""), with(2, `"code":"`+strings.Repeat("模", 36)+`",`), with(3, `"code":123456,`), with(4, `"code":1e6,`))
	s.settled(2, push.Dead)
	s.settled(10, push.Sent)
	for id, code := range map[int]string{1: "template_variable_missing", 2: "template_value_too_long"} {
		if got := s.number(`SELECT count(*) FROM push_log WHERE action = 'sms' AND biz_id = $1 AND status = 'dead' AND error_code = $2 AND attempt = 1`, strconv.Itoa(id), code); got != 1 {
			t.Errorf("event %d did not end by %s", id, code)
		}
	}
	if n := s.sandbox.Requests(provider.Aliyun, provider.CallSend); n != 2 || s.sandbox.Requests(provider.Tencent, provider.CallSend) != 0 {
		t.Errorf("%d requests at aliyun, want those of the two good ones", n)
	}
	for _, e := range s.sandbox.Journal().Entries() {
		if e.Provider == provider.Aliyun && string(e.Params) != `{"code":"123456"}` && string(e.Params) != `{"code":"1000000"}` {
			t.Errorf("the wire carries %s", e.Params)
		}
	}
}

// TestFieldReport30_EachSpellingGoesOutAsTheProviderWantsIt: however a number is written, Aliyun gets it as it is at home and
// Tencent with its country; what is no number is skipped without a call.
func TestFieldReport30_EachSpellingGoesOutAsTheProviderWantsIt(t *testing.T) {
	t.Parallel()
	spellings := []string{
		"13800138000", "+86 138 0013 8000", "0086-138-0013-8000", "8613800138000", "１３８００１３８０００", "138\u00a00013\u00a08000",
		"138\u200b00138000", "138\u20110013\u20118000",
	}
	bad := []string{"1380013800", "call-me", ""}
	for name, want := range map[string]string{provider.Aliyun: "13800138000", provider.Tencent: "+8613800138000"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, 1)
			byBoth(s)
			if name == provider.Tencent {
				s.faults(provider.Fault{Provider: provider.Aliyun, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"})
			}
			s.run()
			for i, text := range append(spellings, bad...) {
				s.write(strings.Replace(event(i, `"actions":["sms"],`), fmt.Sprintf(`"phone":"138%08d"`, i), `"phone":"`+text+`"`, 1))
			}
			s.settled(len(spellings), push.Sent)
			s.settled(len(bad), push.Skipped)
			for _, e := range s.sandbox.Journal().Entries() {
				if e.Provider != name || e.Recipient != want {
					t.Errorf("%s got %s, want %s", e.Provider, e.Recipient, want)
				}
			}
			if n := s.sandbox.Requests(name, provider.CallSend); n != len(spellings) {
				t.Errorf("%d requests for %d numbers", n, len(spellings))
			}
		})
	}
}

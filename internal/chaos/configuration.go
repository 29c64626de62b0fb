package chaos

import (
	"time"

	"pusher/internal/sandbox/provider"
)

// lease of a claim, as configured below.
const lease = 6 * time.Second

// resendWithin is WeChat's, as configured below.
const resendWithin = 9 * time.Minute

// configuration is what all processes read: what takes minutes in production takes seconds. The retries are not
// limited, since a delivery that is given up because the network was away for long would prove nothing; and Tencent,
// which cannot be asked, holds what is unknown for longer than a run.
const configuration = `
kafka: {topic: push-events, retry_topic: push-events-retry, dead_letter_topic: push-events-dlq, group: chaos, session_timeout: 6s}
redis: {timeout: 1s}
worker: {in_flight: 256, grace: 4s}
dedup: {lease: 6s}
http: {addr: "127.0.0.1:0"}
retry: {max_attempts: 1000, first: 500ms, factor: 1.5, max: 4s}
channels:
  notify: {timeout: 1s}
  sms:
    timeout: 1s
    ask_for: 30s
    providers: [aliyun]
    aliyun: {access_key_id: sandbox, access_key_secret: sandbox-secret, sign_name: Chaos}
    tencent: {secret_id: sandbox, secret_key: sandbox-secret, sdk_app_id: "1400000000", sign_name: Chaos}
  wechat: {timeout: 1s, resend_within: 9m, app_id: sandbox, app_secret: sandbox-secret}
privacy: {hash_key: chaos-chaos-chaos}
pushes:
  resume_viewed:
    actions:
      notify: {title: "Your resume was viewed", body: "{{.company}} viewed your resume"}
      sms: {aliyun: {template: SMS_10001, params: {company: "{{.company}}"}}, tencent: {template: "20001", params: ["{{.company}}"]}}
      wechat: {template: TPL1, data: {thing1: "{{.company}}"}}
`

// Recipients that their providers refuse for good.
const (
	barredPhone  = "13900000001"
	barredOpenID = "oBARRED0000000000000000000001"
)

// barred is what the providers refuse for good, storm or not.
func barred() []provider.Fault {
	return []provider.Fault{
		{Provider: provider.Aliyun, Recipient: barredPhone, Kind: provider.Refuse, Code: "isv.BLACK_KEY_CONTROL_LIMIT"},
		{Provider: provider.Tencent, Recipient: "+86" + barredPhone, Kind: provider.Refuse, Code: "FailedOperation.PhoneNumberInBlacklist"},
		{Provider: provider.WeChat, Recipient: barredOpenID, Kind: provider.Refuse, Code: "43004", Message: "require subscribe"},
	}
}

// usualLatency is how long a provider takes for a good answer: long enough that a fault finds requests out.
const usualLatency = 150 * time.Millisecond

// usualFaults is what the providers do wrong on any day: shares of the deliveries, each met at its first request. The
// rest is only slow.
func usualFaults() []provider.Fault {
	once := func(name string, share float64, kind provider.Kind) provider.Fault {
		return provider.Fault{Provider: name, Share: share, Each: 1, Kind: kind}
	}
	refuse := func(name, code string) provider.Fault {
		f := once(name, .04, provider.Refuse)
		f.Code, f.Message = code, "busy"
		return f
	}
	list := []provider.Fault{
		refuse(provider.Aliyun, "isp.SYSTEM_ERROR"), refuse(provider.Tencent, "InternalError.OtherError"), refuse(provider.WeChat, "-1"),
	}
	for name, share := range map[string]float64{provider.Aliyun: .02, provider.WeChat: .02, provider.Tencent: .002} {
		late, text := once(name, share, provider.Late), once(name, share, provider.Answer)
		late.Delay = provider.Duration(1500 * time.Millisecond) // the senders have given up by then
		text.Status, text.Body = 500, "<html>Internal Server Error</html>"
		list = append(list, late, text,
			once(name, share, provider.AcceptThenStall), once(name, share, provider.AcceptThenReset),
			once(name, share, provider.AcceptThenCut), once(name, share, provider.Stall), once(name, share, provider.Reset))
	}
	return append(list, provider.Fault{Kind: provider.Latency, Delay: provider.Duration(usualLatency)})
}

// storm is one thing that all of a provider's requests meet for a while.
func storm(draw uint64) provider.Fault {
	names := []string{provider.Aliyun, provider.WeChat, ""}
	list := []provider.Fault{
		{Kind: provider.AcceptThenStall}, {Kind: provider.AcceptThenReset}, {Kind: provider.Stall}, {Kind: provider.Reset},
		{Kind: provider.Answer, Status: 502, Body: "Bad Gateway"},
		{Kind: provider.Latency, Delay: provider.Duration(700 * time.Millisecond)},
		{Kind: provider.Late, Delay: provider.Duration(2 * time.Second)},
		{Call: provider.CallQuery, Kind: provider.Reset}, {Call: provider.CallToken, Kind: provider.Answer, Status: 503, Body: "busy"},
	}
	f := list[draw%uint64(len(list))]
	f.Provider, f.Share = names[draw>>32%uint64(len(names))], .5
	return f
}

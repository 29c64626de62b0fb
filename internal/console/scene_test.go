package console

import (
	"fmt"
	"math"
	"time"

	"pusher/internal/push"
)

// The deliveries of the scene that tests name.
const (
	unknownOne = 10248 // an SMS that may have been sent
	deadOne    = 10247 // an SMS that was refused for good
	hostileOne = 10246 // whoever wrote its event meant harm
)

// hostile is text that would run, or turn the page around, were it taken for anything but text.
const hostile = `<script>document.title='pwned'</script><img src=x onerror="document.title='pwned'">"'><b>&amp;` + "\u202egnp.exe"

// play fills a memory with an afternoon's deliveries.
func play(m *memory) {
	now := m.now()
	origin := func(id int64) push.Origin {
		return push.Origin{Topic: "push-events", Partition: int(id % 4), Offset: id, Time: now.Add(-time.Duration(10250-id) * 41 * time.Second)}
	}
	for i := range int64(120) {
		id := 10245 - i
		actions := push.Actions()
		e := entry(id, actions[id%3], push.Sent)
		e.Provider = map[push.Action]string{push.Notify: "inbox", push.SMS: "aliyun", push.WeChat: "wechat"}[e.Action]
		e.Recipient = fmt.Sprintf("+86*********%02d", id%40)
		switch {
		case i%17 == 4:
			e.Status, e.ErrorCode = push.Skipped, "no_openid"
		case i%13 == 5:
			e.Status, e.ErrorCode, e.NextAttemptAt = push.Failed, "isp.SYSTEM_ERROR", now.Add(90*time.Second)
		case e.Action == push.SMS && i%4 == 1:
			e.Status = push.Delivered
		case i == 2:
			e.Status = push.Sending
		}
		e.Origin = origin(id)
		e.CreatedAt = e.Origin.Time
		e.UpdatedAt = e.CreatedAt.Add(2 * time.Second)
		m.put(e)
	}
	m.put(unknown(origin(unknownOne)))
	m.attempts[unknownOne] = []push.Attempt{{
		Attempt: 1, Provider: "aliyun", Outcome: "not_sent", ErrorCode: "isp.SYSTEM_ERROR", ErrorMessage: "busy",
		StartedAt: origin(unknownOne).Time.Add(time.Second), FinishedAt: origin(unknownOne).Time.Add(1400 * time.Millisecond), Worker: "pusher-1/7",
	}, {
		Attempt: 2, Provider: "aliyun", Outcome: "ambiguous", ErrorCode: "timeout", ErrorMessage: "context deadline exceeded",
		StartedAt: origin(unknownOne).Time.Add(33 * time.Second), FinishedAt: origin(unknownOne).Time.Add(38 * time.Second), Worker: "pusher-2/7", Current: true,
	}}
	m.events[unknownOne] = `{"biz_type": "resume_viewed", "biz_id": 10248, "params": {"company": "ACME", "position": "Engineer"}}`

	dead := entry(deadOne, push.SMS, push.Dead)
	dead.Provider, dead.ErrorCode, dead.ErrorMessage = "aliyun", "isv.SMS_TEMPLATE_ILLEGAL", "template not approved"
	dead.Recipient, dead.Origin, dead.BizID = "+86*********07", origin(deadOne), "10247"
	dead.CreatedAt, dead.UpdatedAt = dead.Origin.Time, dead.Origin.Time.Add(time.Second)
	m.put(dead)
	m.attempts[deadOne] = []push.Attempt{{
		Attempt: 1, Provider: "aliyun", Outcome: "permanent", ErrorCode: dead.ErrorCode, ErrorMessage: dead.ErrorMessage,
		StartedAt: dead.CreatedAt.Add(100 * time.Millisecond), FinishedAt: dead.UpdatedAt, Worker: "pusher-1/7", Current: true,
	}}

	bad := entry(hostileOne, push.WeChat, push.Failed)
	bad.BizType, bad.BizID, bad.UserID, bad.ErrorCode, bad.ErrorMessage, bad.EventID = hostile, hostile, hostile, hostile, hostile, hostile
	bad.Origin = origin(hostileOne)
	bad.CreatedAt, bad.UpdatedAt = bad.Origin.Time, bad.Origin.Time
	m.put(bad)
	m.attempts[hostileOne] = []push.Attempt{{
		Attempt: 1, Provider: "wechat", Outcome: "not_sent", ErrorCode: hostile, ErrorMessage: hostile,
		StartedAt: bad.CreatedAt, FinishedAt: bad.CreatedAt, Worker: hostile, Current: true,
	}}
	m.events[hostileOne] = `{"biz_id": "x", "params": {"company": "` + hostile + `"}}`
	m.hours = hoursOf(now)
	m.counts = []push.Count{
		{Action: push.SMS, Status: push.Failed, Provider: "aliyun", ErrorCode: "isp.SYSTEM_ERROR", Count: 183},
		{Action: push.WeChat, Status: push.Dead, Provider: "wechat", ErrorCode: "43004", Count: 135},
		{Action: push.SMS, Status: push.Dead, Provider: "aliyun", ErrorCode: "isv.SMS_TEMPLATE_ILLEGAL", Count: 125},
		{Action: push.WeChat, Status: push.Skipped, ErrorCode: "no_openid", Count: 88},
		{Action: push.SMS, Status: push.Unknown, Provider: "aliyun", ErrorCode: "timeout", Count: 1},
	}
	m.waiting = push.Waiting{
		Unknown: 1, OldestUnknown: 3 * time.Minute, Dead: 260, Due: 9, OldestDue: 20 * time.Second, Later: 31,
		Queued: 2, OldestQueued: 4 * time.Second, Sending: 1, OldestSending: time.Second,
		SentAMinute: map[push.Action]float64{push.SMS: 11.2, push.Notify: 14, push.WeChat: 9.6},
	}
}

func unknown(origin push.Origin) push.Entry {
	e := entry(unknownOne, push.SMS, push.Unknown)
	e.BizID, e.DedupID, e.UserID, e.Recipient = "10248", "10248", "u-42", push.Mask("+8613800138042")
	e.Provider, e.ErrorCode, e.ErrorMessage, e.Attempt, e.RetriesUsed = "aliyun", "timeout", "context deadline exceeded", 2, 1
	e.Origin, e.CreatedAt, e.UpdatedAt = origin, origin.Time, origin.Time.Add(38*time.Second)
	e.AmbiguousSince = e.UpdatedAt
	return e
}

// hoursOf is a week with its nights.
func hoursOf(now time.Time) []push.Hour {
	var hours []push.Hour
	for i := range 168 {
		hour := now.Truncate(time.Hour).Add(-time.Duration(i) * time.Hour)
		busy := 400 + 320*math.Sin(float64(hour.Hour()-9)/24*2*math.Pi)
		add := func(action push.Action, provider string, status push.Status, share float64, latency []int64) {
			n := int64(busy * share * (1 + .2*math.Sin(float64(i)*1.7)))
			if n > 0 {
				hours = append(hours, push.Hour{Hour: hour, Action: action, Provider: provider, Status: status, Count: n, Latency: latency})
			}
		}
		add(push.Notify, "inbox", push.Sent, 1, []int64{900, 40, 3})
		add(push.SMS, "aliyun", push.Delivered, .6, []int64{20, 300, 500, 80, 9, 2})
		add(push.SMS, "tencent", push.Sent, .2, []int64{4, 120, 420, 160, 40, 9})
		add(push.WeChat, "wechat", push.Sent, .8, []int64{100, 700, 200, 40})
		add(push.SMS, "aliyun", push.Failed, .02, nil)
		add(push.WeChat, "wechat", push.Dead, .015, nil)
		if i > 4 && i < 8 {
			add(push.SMS, "aliyun", push.Dead, .07, nil)
		}
	}
	return hours
}

package e2e

import (
	"pusher/internal/fault"
	"pusher/internal/push"
	"pusher/internal/sandbox/provider"
)

// scene is how a delivery comes to a fault point.
type scene struct {
	point   fault.Point
	actions []push.Action // that come there; nil: each

	with        string            // other faults, in the process that breaks
	compensator bool              // a compensator breaks, else a pusher
	first       string            // faults of the pusher before that compensator; "": none
	prior       string            // a fault of another compensator before it
	term        string            // the process is told to stop (SIGTERM) once it has said this
	settings    map[string]string // over quickSettings
	provider    provider.Fault    // what a provider does wrong
	poison      bool              // the record is no event

	want   push.Status  // [sent]
	unsent []fault.Kind // the kinds after which an SMS is held unknown: it cannot be shown that it did not leave
}

// one retry and no more: what fails is given up.
func once() map[string]string { return map[string]string{"PUSHER_RETRY_MAX_ATTEMPTS": "1"} }

// both makes SMS a channel of two providers.
func both() map[string]string {
	return map[string]string{"PUSHER_CHANNELS_SMS_PROVIDERS": "aliyun,tencent"}
}

// scenes lists a scene for every point.
func scenes() []scene {
	list := pusherScenes()
	for _, s := range compensatorScenes() {
		s.compensator = true
		list = append(list, s)
	}
	for i := range list {
		s := &list[i]
		if len(s.actions) == 0 {
			s.actions = []push.Action{push.Notify, push.SMS, push.WeChat}
		}
		if s.want == "" {
			s.want = push.Sent
		}
	}
	return list
}

func pusherScenes() []scene {
	wechat, sms := []push.Action{push.WeChat}, []push.Action{push.SMS}
	refuses := provider.Fault{Provider: provider.Aliyun, Kind: provider.Refuse, Code: "isp.SYSTEM_ERROR"}
	lostProcess := []fault.Kind{fault.Die}
	lostGrace := []fault.Kind{fault.Die, fault.Stall} // one that wakes after its grace ends as if killed
	return []scene{
		{point: fault.BeforeClaim},
		{point: fault.AfterClaim},
		{point: fault.BeforeIntent},
		{point: fault.AfterIntent, unsent: lostProcess},
		{point: fault.BeforeLost, with: "intent.after=error:1000", term: fault.Said(fault.AfterIntent, fault.Error), unsent: lostGrace},
		{point: fault.AfterLost, with: "intent.after=error:1000", term: fault.Said(fault.AfterIntent, fault.Error)},
		{point: fault.BeforeRenewal, with: "result.before=error:5"},
		{point: fault.AfterRenewal, with: "result.before=error:5"},
		{point: fault.Fence, unsent: lostProcess},
		{point: fault.BeforeSend, unsent: lostProcess},
		{point: fault.AfterSend},
		{point: fault.BeforeResult},
		{point: fault.AfterResult},
		{point: fault.BeforeRepeat, actions: wechat, with: "send.after=error"},
		{point: fault.AfterRepeat, actions: wechat, with: "send.after=error"},
		{point: fault.BeforeSwitch, actions: sms, settings: both(), provider: refuses, unsent: lostProcess},
		{point: fault.AfterSwitch, actions: sms, settings: both(), provider: refuses, unsent: lostProcess},
		{point: fault.BeforeUndo, with: "fence=error", unsent: lostProcess},
		{point: fault.AfterUndo, with: "fence=error"},
		{point: fault.BeforeSettle},
		{point: fault.AfterSettle},
		{point: fault.BeforeRelease, with: "fence=error"},
		{point: fault.AfterRelease, with: "fence=error"},
		{point: fault.BeforePoison, poison: true, actions: []push.Action{push.Notify}},
		{point: fault.AfterPoison, poison: true, actions: []push.Action{push.Notify}},
		{point: fault.BeforeDone},
		{point: fault.BeforeCommit},
		{point: fault.AfterCommit},
	}
}

func compensatorScenes() []scene {
	sms, wechat := []push.Action{push.SMS}, []push.Action{push.WeChat}
	return []scene{
		{point: fault.AfterSweep, first: "intent.after=die", unsent: fault.Kinds()},
		{point: fault.AfterGiveUp, first: "send.before=error", settings: once(), want: push.Dead},
		{point: fault.AfterAgain, actions: wechat, first: "send.after=error,result.after=die"},
		{point: fault.AfterQuestion, actions: sms, first: "send.after=error"},
		{point: fault.AfterAnswer, actions: sms, first: "send.after=error"},
		{point: fault.AfterFound, actions: sms, first: "send.after=error"},
		{
			point: fault.AfterResend, actions: sms, provider: provider.Fault{Kind: provider.Reset, Count: 1},
			settings: map[string]string{"PUSHER_CHANNELS_SMS_WHEN_UNKNOWN": "resend"},
		},
		{point: fault.AfterRequeue, first: "send.before=error"},
		{point: fault.AfterPick, first: "send.before=error", prior: "requeue.after=die"},
		{point: fault.BeforePublish, first: "send.before=error"},
		{point: fault.AfterPublish, first: "send.before=error"},
		{point: fault.AfterNote, first: "send.before=error"},
		{point: fault.BeforeLetter, first: "send.before=error", settings: once(), want: push.Dead},
		{point: fault.AfterLetter, first: "send.before=error", settings: once(), want: push.Dead},
	}
}

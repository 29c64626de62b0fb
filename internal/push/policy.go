package push

import "time"

// Policy is how often and how long the compensator tries (docs/contract.md, section 6).
type Policy struct {
	MaxAttempts  int           // retry.max_attempts, compared with retries_used
	Lease        time.Duration // dedup.lease, of a row's claim
	ResendWithin time.Duration // channels.wechat.resend_within, from the first ambiguous attempt's intent
	SMS          Doubt
	WeChat       Doubt
}

// Doubt is what becomes of sends whose outcome stays unknown, for one channel.
type Doubt struct {
	AskFor  time.Duration // how long the provider is asked before when_unknown decides; 0 where nobody can be asked
	Timeout time.Duration // of one request
	Resend  bool          // when_unknown: resend (at least once); else hold (at most once)
	HoldMax time.Duration // then dead, reason unknown_expired
}

// ResendAfter is the age at which an unknown send may go out once more where policy says so: the asking is over, and
// so is every request that may still have been on its way (rule Q5).
func (p Policy) ResendAfter(a Action) time.Duration {
	if a == WeChat {
		return p.ResendWithin + p.Lease + p.WeChat.Timeout
	}
	return p.SMS.AskFor + p.Lease + p.SMS.Timeout
}

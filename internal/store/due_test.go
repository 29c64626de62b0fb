package store_test

import (
	"context"
	"testing"
	"time"

	"pusher/internal/push"
)

func TestDueCountsEveryRuleAndChangesNothing(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	for range 2 {
		r.put(t, push.SMS, push.Failed, nil)                                                           // Q1
		r.put(t, push.SMS, push.Queued, columns{"updated_at": "now() - interval '2 min'"})             // Q2
		r.put(t, push.Notify, push.Sending, stale("5 min", nil))                                       // Q3
		r.put(t, push.SMS, push.Sending, stale("5 min", nil))                                          // Q3
		r.put(t, push.Notify, push.Sending, stale("5 min", columns{"retries_used": "5"}))              // Q3
		r.put(t, push.WeChat, push.Unknown, columns{"updated_at": "now() - interval '1 min'"})         // Q4
		r.put(t, push.SMS, push.Unknown, ago("1 min", nil))                                            // Q5: asked
		r.put(t, push.SMS, push.Unknown, ago("1 h", columns{"provider": "'tencent'"}))                 // Q5: resent
		r.put(t, push.WeChat, push.Unknown, ago("10 min", nil))                                        // Q5: held
		r.put(t, push.SMS, push.Failed, columns{"retries_used": "5", "expires_at": "now()"})           // Q6: dead
		r.put(t, push.SMS, push.Failed, columns{"expires_at": "now()"})                                // Q6: expired
		r.put(t, push.WeChat, push.Queued, columns{"expires_at": "now()", "ambiguous_since": "now()"}) // Q6: unknown
		r.put(t, push.WeChat, push.Unknown, ago("73 h", nil))                                          // Q6: dead; held till then
		r.put(t, push.SMS, push.Dead, nil)                                                             // Q7
		r.put(t, push.SMS, push.Sent, nil)
		r.put(t, push.SMS, push.Sending, nil)
	}
	p := policy()
	p.SMS.Resend = true
	want := push.Tally{Requeued: 2, Republished: 2, SweptQueued: 2, SweptUnknown: 2, SweptDead: 2, Repeated: 2,
		Asked: 2, Resent: 2, Held: 4, Dead: 2, Expired: 2, Doubted: 2, UnknownExpired: 2, Letters: 2}
	for range 2 {
		got := check[push.Tally](t)(r.Due(context.Background(), p, aliyun(), time.Minute))
		if got != want {
			t.Errorf("due %+v, want %+v", got, want)
		}
	}
}

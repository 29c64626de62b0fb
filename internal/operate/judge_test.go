package operate

import (
	"testing"
	"time"

	"pusher/internal/push"
)

func TestO1JudgesEachVerbByWhatItMayDo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	row := func(status push.Status, changes ...func(*push.Candidate)) push.Candidate {
		c := push.Candidate{Entry: push.Entry{Status: status, RecipientKept: true}}
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	erased := func(c *push.Candidate) { c.RecipientKept = false }
	over := func(c *push.Candidate) { c.ExpiresAt = now }
	overtaken := func(c *push.Candidate) { c.Overtaken = true }
	doubtful := func(c *push.Candidate) { c.ErrorCode = push.CodeUnknownExpired }
	marked := func(c *push.Candidate) { c.PossibleDuplicate = true }
	cases := map[string]struct {
		verb push.Verb
		row  push.Candidate
		want judgement
	}{
		"dead":                       {push.Requeue, row(push.Dead), judgement{verdict: WouldSend, moves: true}},
		"failed before its time":     {push.Requeue, row(push.Failed), judgement{verdict: WouldSend, moves: true}},
		"failed, resent before":      {push.Requeue, row(push.Failed, marked), judgement{verdict: WouldSend, moves: true, mayDouble: true}},
		"dead, expired":              {push.Requeue, row(push.Dead, over), judgement{verdict: Expired, reason: reasonExpired}},
		"dead, erased":               {push.Requeue, row(push.Dead, erased), judgement{verdict: HeldBack, reason: reasonErased}},
		"dead, overtaken":            {push.Requeue, row(push.Dead, overtaken), judgement{verdict: HeldBack, reason: reasonOvertaken}},
		"dead, in doubt":             {push.Requeue, row(push.Dead, doubtful), judgement{verdict: HeldBack, reason: reasonDoubt}},
		"dead, resent before":        {push.Requeue, row(push.Dead, marked), judgement{verdict: HeldBack, reason: reasonDoubt}},
		"unknown is no requeue":      {push.Requeue, row(push.Unknown), judgement{verdict: NotAllowed, reason: "may have been sent: use resolve"}},
		"sent is done":               {push.Requeue, row(push.Sent), judgement{verdict: NotAllowed, reason: "was sent: the provider took it"}},
		"unknown was sent":           {push.ResolveSent, row(push.Unknown, over, erased), judgement{verdict: WouldSettle, moves: true}},
		"dead was sent":              {push.ResolveSent, row(push.Dead, doubtful), judgement{verdict: NotAllowed, reason: "was given up, and has its dead letter"}},
		"unknown was not sent":       {push.ResolveNotSent, row(push.Unknown), judgement{verdict: WouldSend, moves: true}},
		"unknown, not sent, expired": {push.ResolveNotSent, row(push.Unknown, over), judgement{verdict: Expired, reason: reasonExpired, moves: true}},
		"given up, not sent":         {push.ResolveNotSent, row(push.Dead, doubtful), judgement{verdict: WouldSend, moves: true}},
		"unknown, erased":            {push.ResolveNotSent, row(push.Unknown, erased), judgement{verdict: HeldBack, reason: reasonErased}},
		"unknown, once more":         {push.ResolveResend, row(push.Unknown), judgement{verdict: WouldSend, moves: true, mayDouble: true}},
		"unknown, too late":          {push.ResolveResend, row(push.Unknown, over), judgement{verdict: Expired, reason: reasonExpired}},
		"given up, once more":        {push.ResolveResend, row(push.Dead, doubtful), judgement{verdict: WouldSend, moves: true, mayDouble: true}},
		"dead is requeued":           {push.ResolveResend, row(push.Dead), judgement{verdict: NotAllowed, reason: "was certainly not sent: use requeue"}},
		"failed is not resolved":     {push.ResolveNotSent, row(push.Failed), judgement{verdict: NotAllowed, reason: "was certainly not sent, and comes again by itself: there is nothing to resolve"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := judge(c.verb, c.row, now); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// Whatever its status, a row is judged, and what is not moved has a reason.
func TestEveryVerbJudgesEveryStatus(t *testing.T) {
	t.Parallel()
	for _, verb := range push.Verbs() {
		for _, status := range push.Statuses() {
			got := judge(verb, push.Candidate{Entry: push.Entry{Status: status, RecipientKept: true}}, time.Now())
			if got.verdict == "" || !got.moves && got.reason == "" {
				t.Errorf("%s of %s: %+v", verb, status, got)
			}
			if got.moves && !status.CanBecome(push.Queued) && !status.CanBecome(push.Sent) {
				t.Errorf("%s moves %s, which has no such way on", verb, status)
			}
		}
	}
}

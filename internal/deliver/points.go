package deliver

import (
	"context"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// between puts a batched call between two fault points. An error before it leaves it undone, an error after it loses
// its answer; no says how each item hears of it.
func between[Q, A any](
	before, after fault.Point, do func(context.Context, []Q) []A, no func(error) A,
) func(context.Context, []Q) []A {
	failed := func(n int, err error) []A {
		answers := make([]A, n)
		for i := range answers {
			answers[i] = no(err)
		}
		return answers
	}
	return func(ctx context.Context, asks []Q) []A {
		if err := fault.At(before); err != nil {
			return failed(len(asks), err)
		}
		answers := do(ctx, asks)
		if err := fault.At(after); err != nil {
			return failed(len(asks), err)
		}
		return answers
	}
}

func noGrant(err error) push.Grant { return push.Grant{Err: err} }

func noKeyAnswer(err error) push.KeyAnswer { return push.KeyAnswer{Err: err} }

func noAnswer(err error) push.Answer { return push.Answer{Err: err} }

// sent is a request at a provider between its two points. An error before it is proof that nothing left, an error
// after it an answer that got lost.
func sent(ctx context.Context, to Sender, m push.Message) (push.Acceptance, error) {
	if err := fault.At(fault.BeforeSend); err != nil {
		return push.Acceptance{}, &push.Failure{Class: push.NotSent, Code: "fault", Unsent: true, Err: err}
	}
	accepted, err := to.Send(ctx, m)
	if lost := fault.At(fault.AfterSend); lost != nil {
		return push.Acceptance{}, &push.Failure{Class: push.Ambiguous, Code: "fault", Err: lost}
	}
	return accepted, err
}

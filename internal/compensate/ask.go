package compensate

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// asksAtOnce is how many questions are out at providers at the same time.
const asksAtOnce = 8

// asksMost bounds how many questions are picked at a time: providers that hang must not cost a pass its budget.
const asksMost = 200

// reply is what a provider said to one question.
type reply struct {
	push.Finding

	err error
}

// ask asks the providers about sends whose outcome is unknown and records those that were accepted after all: rule
// Q5. A provider that does not answer is asked again with the next turn of the backoff.
func (t *turn) ask(ctx context.Context) error {
	if len(t.Askers) == 0 {
		return nil
	}
	return t.batches(ctx, func(ctx context.Context) (push.Tally, error) {
		questions, err := t.Unknowns.Questions(ctx, min(t.Batch, asksMost), t.Policy, t.askable())
		if err != nil || len(questions) == 0 {
			return push.Tally{}, err
		}
		if err := fault.At(fault.AfterQuestion); err != nil {
			return push.Tally{}, err
		}
		replies := t.put(ctx, questions)
		moved := push.Tally{Asked: len(questions)}
		if err := fault.At(fault.AfterAnswer); err != nil {
			return moved, err
		}
		moved.Found, err = t.record(ctx, questions, replies)
		if err != nil {
			return moved, err
		}
		return moved, errors.Join(t.hint(ctx, questions, replies), silence(replies))
	})
}

// put puts the questions to their providers, a few at a time, and waits for all replies.
func (t *turn) put(ctx context.Context, questions []push.Question) []reply {
	replies := make([]reply, len(questions))
	var group errgroup.Group
	group.SetLimit(asksAtOnce)
	for i, q := range questions {
		group.Go(func() error {
			replies[i] = t.find(ctx, q)
			return nil
		})
	}
	_ = group.Wait() // each reply carries its own error
	return replies
}

func (t *turn) find(ctx context.Context, q push.Question) reply {
	asker, ok := t.Askers[q.Provider]
	if !ok {
		return reply{err: fmt.Errorf("nobody to ask for provider %q", q.Provider)}
	}
	ctx, cancel := context.WithTimeout(ctx, t.Policy.SMS.Timeout)
	defer cancel()
	finding, err := asker.Find(ctx, q)
	return reply{finding, err}
}

// record writes what was found as accepted (rule P1: whoever owns the row). It writes even when the pass is told to
// stop: an acceptance that is known must not be forgotten.
func (t *turn) record(ctx context.Context, questions []push.Question, replies []reply) (int, error) {
	var results []push.Result
	var asked []push.Question
	for i, r := range replies {
		if r.err == nil && r.Found {
			q := questions[i]
			asked = append(asked, q)
			results = append(results, push.Result{
				ID: q.ID, Attempt: q.Attempt, Class: push.Accepted, Provider: q.Provider, MessageID: r.MessageID,
			})
		}
	}
	if len(results) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.Call)
	defer cancel()
	found := 0
	var failed error
	for i, a := range t.Unknowns.Record(ctx, results) {
		switch {
		case a.Err != nil:
			failed = fmt.Errorf("recording what was found: %w", a.Err)
		case a.Row.Status == push.Sent:
			found++
			t.found(asked[i], a.Row)
		}
	}
	return found, errors.Join(failed, fault.At(fault.AfterFound))
}

// hint keeps what a provider told without proving anything: an operator may know more than we do.
func (t *turn) hint(ctx context.Context, questions []push.Question, replies []reply) error {
	var hints []push.Hint
	for i, r := range replies {
		if r.err == nil && !r.Found && r.Hint != "" {
			hints = append(hints, push.Hint{ID: questions[i].ID, Attempt: questions[i].Attempt, Text: r.Hint})
		}
	}
	if len(hints) == 0 {
		return nil
	}
	return t.Hints.Hint(ctx, hints)
}

// silence sums up the replies that were none, by the first of them.
func silence(replies []reply) error {
	var first error
	n := 0
	for _, r := range replies {
		if r.err != nil {
			n++
			if first == nil {
				first = r.err
			}
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%d of %d questions went unanswered, the first: %w", n, len(replies), first)
}

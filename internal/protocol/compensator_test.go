package protocol

import (
	"context"
	"slices"

	"pusher/internal/push"
)

// most is how many rows a statement of the compensator takes: all there are.
const most = 100

// publish puts the retry messages of what was queued on their topic, where they stay.
func (w *world) publish(pokes []push.Poke, err error) {
	w.Helper()
	w.must(err)
	for _, p := range pokes {
		r := w.log.Round(p.Round)
		if r == nil || r.Status != push.Queued || r.Attempt != p.Attempt {
			w.Fatalf("published %d(%d), the row is %+v", p.Round, p.Attempt, r)
		}
		retry := push.Retry{Round: p.Round, Attempt: p.Attempt}
		if !slices.Contains(w.published, retry) {
			w.published = append(w.published, retry)
		}
	}
}

// compensator lists the steps of a pass. quiet leaves the messages unpublished: the pass died after its commit.
func (w *world) compensator(quiet bool) map[string]func() {
	publish := func(pokes []push.Poke, err error) {
		w.must(err)
		if !quiet {
			w.publish(pokes, nil)
		}
	}
	return map[string]func(){
		"Q1": func() { w.log.Requeue(); publish(w.store.Requeue(w.ctx(), most, w.Policy, "")) },
		"Q2": func() { w.publish(w.store.Unpublished(w.ctx(), most, 2*w.Lease)) },
		"Q3": func() {
			w.log.Sweep()
			pokes, _, err := w.store.SweepStale(w.ctx(), most, w.Policy)
			publish(pokes, err)
		},
		"Q4":        func() { w.log.RepeatUnknown(); publish(w.store.RepeatUnknown(w.ctx(), most, w.Policy)) },
		"Q5":        w.askProvider,
		"Q5 resend": func() { w.log.Resend(); publish(w.store.Resend(w.ctx(), most, w.Policy, nil)) },
		"Q6": func() {
			w.log.GiveUp()
			_, err := w.store.GiveUp(w.ctx(), most, w.Policy)
			w.must(err)
		},
		"Q7": func() {
			w.log.WriteLetters()
			_, err := w.store.Letters(w.ctx(), most, func(_ context.Context, due []push.Letter) ([]bool, error) {
				return slices.Repeat([]bool{true}, len(due)), nil
			})
			w.must(err)
		},
	}
}

// pass of the compensator: all steps, in the order of internal/compensate.
func (w *world) compensate() {
	w.Helper()
	steps := w.compensator(false)
	for _, name := range []string{"Q3", "Q6", "Q4", "Q5", "Q5 resend", "Q1", "Q2", "Q7"} {
		steps[name]()
	}
}

// askProvider is rule Q5: the provider tells of an accepted message; not found proves nothing.
func (w *world) askProvider() {
	w.Helper()
	questions, err := w.store.Questions(w.ctx(), most, w.Policy, providers(w.action))
	w.must(err)
	for _, q := range questions {
		if w.provider.Took(q.Round, q.Provider) {
			w.landResult(push.Result{ID: q.ID, Attempt: q.Attempt, Class: push.Accepted, Provider: q.Provider}, q.Round)
		}
	}
}

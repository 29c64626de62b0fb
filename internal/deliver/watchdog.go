package deliver

import (
	"context"
	"sync"
	"time"

	"pusher/internal/fault"
	"pusher/internal/push"
)

// watchdog renews every held claim, key and row, each third of the lease (rule N1). It looks twice as often, so that
// none waits longer than half of it, and a delivery that is quick costs no renewal at all.
type watchdog struct {
	keys  Keys
	rows  Results
	third time.Duration // of the lease: the age at which a claim is renewed, and the longest one renewal may take
	now   func() time.Time

	mu    sync.Mutex
	holds map[*hold]struct{} // guarded by mu
}

// hold is one claim under the watchdog.
type hold struct {
	key   push.KeyHold
	lease *lease

	mu  sync.Mutex
	row push.Held // guarded by mu; zero until the intent is answered
}

// sending tells the watchdog which row the claim has made its own.
func (h *hold) sending(row push.Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.row = row
}

func (h *hold) held() push.Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.row
}

func (w *watchdog) watch(h *hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds[h] = struct{}{}
}

func (w *watchdog) drop(h *hold) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.holds, h)
}

// run renews until stop closes.
func (w *watchdog) run(ctx context.Context, stop <-chan struct{}) {
	tick := time.NewTicker(w.third / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.step(ctx)
		case <-stop:
			return
		}
	}
}

// step renews every claim that is due. Once there is a row it is the row that decides (a Redis that forgot the key takes
// nothing from us: whoever it grants finds the row); before that, the key. An error changes nothing: the lease runs
// on by our own clock.
func (w *watchdog) step(ctx context.Context) {
	holds := w.due()
	if len(holds) == 0 {
		return
	}
	since := w.now()
	ctx, cancel := context.WithTimeout(ctx, w.third)
	defer cancel()
	var keys []push.KeyAnswer
	var rows map[*hold]push.KeyAnswer
	var both sync.WaitGroup // a Redis that hangs must not cost the rows their leases
	both.Go(func() { keys = w.renewKeys(ctx, holds) })
	both.Go(func() { rows = w.renewRows(ctx, holds) })
	both.Wait()
	for i, h := range holds {
		answer, hasRow := rows[h]
		if !hasRow {
			answer = keys[i]
		}
		switch {
		case answer.Err != nil:
		case answer.Mine:
			h.lease.extend(since)
		case hasRow:
			h.lease.lose()
		}
	}
}

// due lists the claims that were not renewed for a third of the lease.
func (w *watchdog) due() []*hold {
	w.mu.Lock()
	defer w.mu.Unlock()
	var holds []*hold
	for h := range w.holds {
		if h.lease.age() >= w.third {
			holds = append(holds, h)
		}
	}
	return holds
}

func (w *watchdog) renewKeys(ctx context.Context, holds []*hold) []push.KeyAnswer {
	asks := make([]push.KeyHold, len(holds))
	for i, h := range holds {
		asks[i] = h.key
	}
	return between(fault.BeforeRenewal, fault.AfterRenewal, w.keys.Renew, noKeyAnswer)(ctx, asks)
}

func (w *watchdog) renewRows(ctx context.Context, holds []*hold) map[*hold]push.KeyAnswer {
	var asks []push.Held
	var whose []*hold
	for _, h := range holds {
		if row := h.held(); row.ID != 0 {
			asks = append(asks, row)
			whose = append(whose, h)
		}
	}
	answers := make(map[*hold]push.KeyAnswer, len(asks))
	if len(asks) == 0 {
		return answers
	}
	for i, a := range w.rows.Renew(ctx, asks) {
		answers[whose[i]] = a
	}
	return answers
}

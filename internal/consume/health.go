package consume

import (
	"sync"
	"time"
)

// health says whether one partition is being fetched. Two things tell that it is not: a broker that is asked and says
// nothing at all, not even that there is nothing; and failures without a pause between them.
type health struct {
	patience time.Duration // silence or failure shorter than this is nothing

	mu     sync.Mutex
	asking time.Time // guarded by mu; since when records are asked for in vain; zero: the handler has one
	failed time.Time // guarded by mu; the first of the present failures; zero: none
	again  time.Time // guarded by mu; the last of them
}

// ask notes that a record is asked for.
func (h *health) ask(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asking.IsZero() {
		h.asking = now
	}
}

// got notes that a record came.
func (h *health) got() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asking, h.failed = time.Time{}, time.Time{}
}

// fail notes a failure. It begins a new row of failures when the last one is over.
func (h *health) fail(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed.IsZero() || now.Sub(h.again) >= h.patience {
		h.failed = now
	}
	h.again = now
}

// deafSince is since when nothing is fetched, given when a broker was last heard; zero while all is well.
func (h *health) deafSince(now, heard time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.failed.IsZero() && now.Sub(h.again) < h.patience && now.Sub(h.failed) >= h.patience {
		return h.failed
	}
	if h.asking.IsZero() {
		return time.Time{}
	}
	silent := h.asking
	if heard.After(silent) {
		silent = heard
	}
	if now.Sub(silent) < h.patience {
		return time.Time{}
	}
	return silent
}

package consume

import (
	"cmp"
	"slices"
	"sync"
)

// unknown is a watermark's position before the first record, when the group has no commit.
const unknown = -1

// watermark tracks the records of one partition that are handed out, and says up to where all of them are taken care
// of. Offsets are taken in ascending order and done in any order; gaps between them (compaction, transaction markers)
// hold no records and are passed over. Its position never passes an undone offset and never goes back.
type watermark struct {
	mu    sync.Mutex
	next  int64         // guarded by mu; one past the highest offset taken, or where reading starts
	out   []slot        // guarded by mu; ascending offsets from the lowest undone one on
	left  int           // guarded by mu; how many of out somebody works on
	empty chan struct{} // guarded by mu; closed while nobody works on anything
}

type slot struct {
	offset int64
	done   bool // taken care of
	back   bool // given back: nobody has it any more, and it is not done
}

// newWatermark starts at the first offset to be read, or unknown.
func newWatermark(start int64) *watermark {
	w := &watermark{next: start, empty: make(chan struct{})}
	close(w.empty)
	return w
}

// begin says where reading starts, when that was unknown.
func (w *watermark) begin(offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = max(w.next, offset)
}

// restart forgets everything: the partition is another log. Only while nobody works on anything.
func (w *watermark) restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out, w.next = nil, unknown
}

// take notes that the record at offset is about to be handed out. It reports false for one that was taken before.
func (w *watermark) take(offset int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if offset < w.next {
		return false
	}
	if w.left == 0 {
		w.empty = make(chan struct{})
	}
	w.left++
	w.out = append(w.out, slot{offset: offset})
	w.next = offset + 1
	return true
}

// done notes that the record at offset is taken care of; an offset that is not out is ignored.
func (w *watermark) done(offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, found := w.find(offset)
	if !found || w.out[i].done {
		return
	}
	w.out[i].done = true
	if !w.out[i].back {
		w.left--
	}
	prefix := 0
	for prefix < len(w.out) && w.out[prefix].done {
		prefix++
	}
	w.out = w.out[prefix:]
	w.signal()
}

// giveBack notes that nobody works on the record at offset any more: it comes again in a later generation, and there
// is nothing to wait for.
func (w *watermark) giveBack(offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, found := w.find(offset)
	if !found || w.out[i].done || w.out[i].back {
		return
	}
	w.out[i].back = true
	w.left--
	w.signal()
}

// find needs mu.
func (w *watermark) find(offset int64) (int, bool) {
	return slices.BinarySearchFunc(w.out, offset, func(s slot, o int64) int { return cmp.Compare(s.offset, o) })
}

// signal needs mu.
func (w *watermark) signal() {
	if w.left > 0 {
		return
	}
	select {
	case <-w.empty:
	default:
		close(w.empty)
	}
}

// position is the offset to commit: the lowest undone one, or where reading goes on when there is none; unknown before
// the first record.
func (w *watermark) position() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.out) > 0 {
		return w.out[0].offset
	}
	return w.next
}

// reading is where reading goes on: the lowest offset that was never taken.
func (w *watermark) reading() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.next
}

// span is how many offsets are remembered: the undone ones and those done beyond the lowest undone one.
func (w *watermark) span() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.out)
}

// undone counts the records that somebody works on.
func (w *watermark) undone() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}

// drained is closed once everything taken so far is taken care of or given back.
func (w *watermark) drained() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.empty
}

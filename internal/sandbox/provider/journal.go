package provider

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Entry is one accepted send.
type Entry struct {
	Provider  string          `json:"provider"`
	Reference string          `json:"reference"` // OutId, SessionContext or client_msg_id
	Recipient string          `json:"recipient"` // phone or openid, as on the wire
	Template  string          `json:"template"`
	Params    json.RawMessage `json:"params,omitempty"` // template values, as on the wire
	MessageID string          `json:"message_id"`
	Time      time.Time       `json:"time"`
}

// Journal is the referee: every send that a provider accepted. It is safe for concurrent use.
type Journal struct {
	keep int

	mu        sync.Mutex // guards all below
	entries   []Entry
	byRef     map[string]int // accepted sends by reference, over all providers
	total     map[string]int // accepted sends by provider, forgotten entries included
	number    int64          // of the last message id
	forgotten int
}

func newJournal(keep int) *Journal {
	return &Journal{keep: keep, byRef: map[string]int{}, total: map[string]int{}}
}

// accept writes an entry and gives it its message id.
func (j *Journal) accept(e Entry, id func(number int64) string) Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.number++
	e.MessageID = id(j.number)
	j.entries = append(j.entries, e)
	j.total[e.Provider]++
	if e.Reference != "" {
		j.byRef[e.Reference]++
	}
	if len(j.entries) > j.keep+j.keep/10 {
		j.forget(len(j.entries) - j.keep)
	}
	return e
}

// forget drops the n oldest entries and what is counted of them.
func (j *Journal) forget(n int) {
	for _, e := range j.entries[:n] {
		if j.byRef[e.Reference]--; j.byRef[e.Reference] <= 0 {
			delete(j.byRef, e.Reference)
		}
	}
	j.entries = slices.Clone(j.entries[n:])
	j.forgotten += n
}

// Entries returns the accepted sends, oldest first.
func (j *Journal) Entries() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// Count is how many sends with this reference were accepted, by whichever provider: 2 is a message sent twice.
func (j *Journal) Count(reference string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.byRef[reference]
}

// Total is how many sends a provider accepted; of all providers for "".
func (j *Journal) Total(provider string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if provider != "" {
		return j.total[provider]
	}
	sum := 0
	for _, n := range j.total {
		sum += n
	}
	return sum
}

// Twice lists the references accepted more than once, sorted. Nothing in it is what the product promises.
func (j *Journal) Twice() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var twice []string
	for reference, n := range j.byRef {
		if n > 1 {
			twice = append(twice, reference)
		}
	}
	slices.Sort(twice)
	return twice
}

// find returns the entries of one provider for which want holds, newest first.
func (j *Journal) find(provider string, want func(Entry) bool) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []Entry
	for _, e := range slices.Backward(j.entries) {
		if e.Provider == provider && want(e) {
			found = append(found, e)
		}
	}
	return found
}

// newest returns at most limit entries, newest first, of one reference or of all.
func (j *Journal) newest(limit int, reference string) []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []Entry
	for _, e := range slices.Backward(j.entries) {
		if len(list) >= limit {
			break
		}
		if reference == "" || e.Reference == reference {
			list = append(list, e)
		}
	}
	return list
}

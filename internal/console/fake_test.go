package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"pusher/internal/operate"
	"pusher/internal/push"
)

// The tokens of the tests.
const (
	operatorToken = "the operator's own token"
	viewerToken   = "the viewer's own token"
)

// memory is a push log in memory: what the pages read, and what a desk moves.
type memory struct {
	now func() time.Time

	mu       sync.Mutex
	entries  map[int64]push.Entry     // guarded by mu, as is all below
	attempts map[int64][]push.Attempt // before the current one
	receipts map[int64][]push.Heard
	done     map[int64][]push.Done
	events   map[int64]string
	deeds    []push.Deeds
	hours    []push.Hour
	counts   []push.Count
	waiting  push.Waiting
	away     error // what every call answers, when set
	blind    int64 // the first look finds nothing down to this row
	counted  int   // calls of Waiting
	looks    int   // calls of Changes
}

func newMemory(now func() time.Time) *memory {
	return &memory{
		now: now, entries: map[int64]push.Entry{}, attempts: map[int64][]push.Attempt{}, receipts: map[int64][]push.Heard{},
		done: map[int64][]push.Done{}, events: map[int64]string{},
	}
}

// put adds or changes a row.
func (m *memory) put(e push.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.UpdatedAt = cmp.Or(e.UpdatedAt, m.now())
	e.CreatedAt = cmp.Or(e.CreatedAt, e.UpdatedAt)
	e.RuleVersion, e.Round = cmp.Or(e.RuleVersion, "v1"), cmp.Or(e.Round, 1)
	m.entries[e.ID] = e
}

// change changes a row as a pusher would.
func (m *memory) change(id int64, how func(*push.Entry)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[id]
	how(&e)
	e.UpdatedAt = m.now()
	m.entries[id] = e
}

func (m *memory) get(id int64) push.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[id]
}

// looked is how often somebody asked for changes.
func (m *memory) looked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks
}

func matches(f push.Filter, e push.Entry) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return is(f.BizType, e.BizType) && is(f.RuleVersion, e.RuleVersion) && is(f.DedupID, e.DedupID) &&
		is(string(f.Action), string(e.Action)) && is(f.BizID, e.BizID) && is(f.UserID, e.UserID) &&
		is(f.Provider, e.Provider) && is(f.ErrorCode, e.ErrorCode) && is(f.Recipient, e.Recipient) &&
		(len(f.IDs) == 0 || slices.Contains(f.IDs, e.ID)) && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, e.Status)) &&
		(f.RecipientHash == nil || slices.Equal(f.RecipientHash, hashOf(e.Recipient))) &&
		!e.CreatedAt.Before(f.From) && (f.To.IsZero() || e.CreatedAt.Before(f.To))
}

// hashOf stands for the hash of the whole recipient, which the memory does not keep: by its masked form.
func hashOf(masked string) []byte { return push.HashRecipient(masked, []byte("key")) }

func (m *memory) List(_ context.Context, f push.Filter, before int64, limit int) (push.Page, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var page push.Page
	if before == 0 && m.blind > 0 { // as of a filter that no index serves
		time.Sleep(2 * lookFor)
		return push.Page{Next: m.blind}, m.away
	}
	for _, e := range m.entries {
		if matches(f, e) && (before == 0 || e.ID < before) {
			page.Entries = append(page.Entries, e)
		}
	}
	slices.SortFunc(page.Entries, func(a, b push.Entry) int { return cmp.Compare(b.ID, a.ID) })
	if len(page.Entries) > limit {
		page.Entries = page.Entries[:limit]
		page.Next = page.Entries[limit-1].ID
	}
	return page, m.away
}

func (m *memory) Show(_ context.Context, id int64) (push.Entry, []push.Attempt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[id]
	if !ok {
		return e, nil, push.ErrNotFound
	}
	return e, slices.Clone(m.attempts[id]), m.away
}

func (m *memory) Receipts(_ context.Context, id int64) ([]push.Heard, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.receipts[id], nil
}

func (m *memory) ActionsOn(_ context.Context, id int64) ([]push.Done, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done[id], nil
}

func (m *memory) Event(_ context.Context, id int64) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.events[id], nil
}

func (m *memory) Actions(_ context.Context, before int64, limit int) ([]push.Deeds, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []push.Deeds
	for _, d := range slices.Backward(m.deeds) {
		if (before == 0 || d.ID < before) && len(list) < limit {
			list = append(list, d)
		}
	}
	return list, m.away
}

func (m *memory) Changes(_ context.Context, _ push.Filter, at time.Time, id int64, limit int) ([]push.Entry, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	var list []push.Entry
	for _, e := range m.entries {
		if !at.IsZero() && (e.UpdatedAt.After(at) || e.UpdatedAt.Equal(at) && e.ID > id) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b push.Entry) int {
		return cmp.Or(a.UpdatedAt.Compare(b.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list[:min(len(list), limit)], m.now(), m.away
}

func (m *memory) Waiting(context.Context) (push.Waiting, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted++
	return m.waiting, m.away
}

func (m *memory) Hourly(_ context.Context, from, _ time.Time) ([]push.Hour, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.hours), func(h push.Hour) bool { return h.Hour.Before(from) }), m.away
}

func (m *memory) Stats(context.Context, time.Time, time.Time) ([]push.Count, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts, m.away
}

func (m *memory) Candidates(ctx context.Context, f push.Filter, before int64, limit int) ([]push.Candidate, int64, error) {
	page, err := m.List(ctx, f, before, limit)
	list := make([]push.Candidate, len(page.Entries))
	for i, e := range page.Entries {
		list[i] = push.Candidate{Entry: e}
	}
	return list, page.Next, err
}

func (m *memory) Move(_ context.Context, action int64, verb push.Verb, deeds []push.Deed) ([]push.Moved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var moved []push.Moved
	for _, d := range deeds {
		e := m.entries[d.ID]
		if e.Status != d.Status || e.Attempt != d.Attempt {
			continue
		}
		e.Status, e.UpdatedAt, e.ErrorCode, e.ErrorMessage = push.Queued, m.now(), "", ""
		if verb == push.ResolveSent {
			e.Status, e.SentAt = push.Sent, m.now()
		} else {
			e.Attempt++
		}
		m.entries[d.ID] = e
		m.done[d.ID] = append(m.done[d.ID], push.Done{Deeds: m.deeds[action-1], Was: d.Status, Attempt: d.Attempt})
		moved = append(moved, push.Moved{Queued: e.Status == push.Queued})
	}
	return moved, nil
}

func (m *memory) MarkPublished(context.Context, []push.Poke) error { return nil }

func (m *memory) Begin(_ context.Context, d push.Deeds) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d.ID, d.BegunAt = int64(len(m.deeds)+1), m.now()
	m.deeds = append(m.deeds, d)
	return d.ID, nil
}

func (m *memory) Finish(_ context.Context, id int64, changed int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deeds[id-1].Changed, m.deeds[id-1].FinishedAt = changed, m.now()
	return nil
}

// house is a console on a memory, served until the test ends.
type house struct {
	*httptest.Server

	memory  *memory
	console *Console
}

// desk is operate's own, on the memory; recipients are hashed as the memory hashes them.
type desk struct{ *operate.Desk }

func (d desk) Recipient(f push.Filter, text string) push.Filter {
	if phone, err := push.NormalizePhone(text, "CN"); err == nil {
		f.RecipientHash = hashOf(push.Mask(phone))
	}
	return f
}

func open(t *testing.T, change ...func(*Config)) *house {
	t.Helper()
	cfg := Config{
		OperatorToken: operatorToken, ViewerToken: viewerToken, Zone: time.UTC, Log: zerolog.Nop(), Now: time.Now,
		Address: func(r *http.Request) netip.Addr {
			peer, _ := netip.ParseAddrPort(r.RemoteAddr)
			return peer.Addr()
		},
	}
	for _, how := range change {
		how(&cfg)
	}
	m := newMemory(cfg.Now)
	d := desk{operate.New(operate.Config{
		Policy: push.Policy{
			MaxAttempts: 8, ResendWithin: 9 * time.Minute,
			SMS: push.Doubt{AskFor: 15 * time.Minute, HoldMax: 72 * time.Hour}, WeChat: push.Doubt{HoldMax: 72 * time.Hour},
		},
		RetryTopic: "push-events-retry", DeadLetterTopic: "push-events-dlq", Now: cfg.Now,
	}, operate.Ports{Reader: m, Mover: m, Book: m})}
	c, err := New(cfg, func() (Source, error) { return Source{Log: m, Figures: m, Desk: d}, nil })
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	c.Hang(mux)
	h := &house{Server: httptest.NewServer(mux), memory: m, console: c}
	t.Cleanup(func() {
		c.Close()
		h.CloseClientConnections()
		h.Close()
	})
	return h
}

// entry is a delivery like any.
func entry(id int64, action push.Action, status push.Status) push.Entry {
	return push.Entry{
		Identity: push.Identity{BizType: "resume_viewed", RuleVersion: "v1", DedupID: strconv.FormatInt(10000+id, 10), Action: action},
		ID:       id, BizID: strconv.FormatInt(10000+id, 10), Status: status, Attempt: 1, UserID: fmt.Sprintf("u-%d", id), RecipientKept: true,
	}
}

package provider

import (
	"net/http"
	"sync"
	"time"
)

// Queries says how the providers answer questions about what they accepted.
type Queries struct {
	// Lag is how long an accepted send is not found yet.
	Lag Duration `json:"lag,omitempty"`
	// Context says that Tencent's account has had SessionContext enabled, so that its reports say whose they are.
	Context bool `json:"context,omitempty"`
}

type queries struct {
	mu  sync.Mutex // guards how
	how Queries
}

// SetQueries replaces how questions are answered.
func (s *Sandbox) SetQueries(how Queries) {
	s.queries.mu.Lock()
	defer s.queries.mu.Unlock()
	s.queries.how = how
}

func (q *queries) get() Queries {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.how
}

// fate is what became of an accepted send, as its receipt says or would say.
type fate int

const (
	waiting fate = iota // no word of the carrier yet, or ever
	failed
	delivered
)

// fateOf is a send's fate at some time, with the carrier's code.
func (s *Sandbox) fateOf(e Entry, now time.Time) (fate, string) {
	s.poster.mu.Lock()
	rule := s.poster.how.ruleOf(e)
	s.poster.mu.Unlock()
	switch {
	case rule.Never || !rule.Early && now.Before(e.Time.Add(time.Duration(rule.Delay))):
		return waiting, ""
	case rule.Code != "":
		return failed, rule.Code
	}
	return delivered, "DELIVERED"
}

// listed finds what a provider accepted and, after its lag, can tell of.
func (s *Sandbox) listed(provider string, want func(Entry) bool) []Entry {
	until := s.cfg.Now().Add(-time.Duration(s.queries.get().Lag))
	return s.journal.find(provider, func(e Entry) bool { return !e.Time.After(until) && want(e) })
}

func (s *Sandbox) getQueries(w http.ResponseWriter, _ *http.Request) {
	write(w, ok(s.queries.get()))
}

// postQueries replaces how questions are answered.
func (s *Sandbox) postQueries(w http.ResponseWriter, r *http.Request) {
	var how Queries
	if !read(w, r, "the queries", &how) {
		return
	}
	s.SetQueries(how)
	s.getQueries(w, r)
}

package provider

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"

	"pusher/internal/push"
)

// faultList is the body of /_sandbox/faults.
type faultList struct {
	Faults []Fault `json:"faults"`
}

// faultReport answers /_sandbox/faults.
type faultReport struct {
	faultList

	Met      map[Kind]int   `json:"met"`      // requests that met a fault, by kind, since the start
	Requests map[string]int `json:"requests"` // well-formed requests, by provider and call, such as "aliyun send"
}

func (s *Sandbox) getFaults(w http.ResponseWriter, _ *http.Request) {
	report := faultReport{faultList: faultList{s.Faults()}}
	s.faults.mu.Lock()
	report.Met, report.Requests = maps.Clone(s.faults.kinds), maps.Clone(s.faults.seen)
	s.faults.mu.Unlock()
	write(w, ok(report))
}

// read decodes a body of the admin API; false: it is none, and has been answered.
func read(w http.ResponseWriter, r *http.Request, what string, into any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		http.Error(w, "reading "+what+": "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// postFaults replaces the rules: {"faults": []} ends all faults.
func (s *Sandbox) postFaults(w http.ResponseWriter, r *http.Request) {
	var list faultList
	if !read(w, r, "the faults", &list) {
		return
	}
	if err := s.SetFaults(list.Faults); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.getFaults(w, r)
}

// report is the body of /_sandbox/journal.
type report struct {
	Accepted map[string]int `json:"accepted"`          // by provider
	Twice    []string       `json:"twice"`             // references accepted more than once
	Repeats  int            `json:"repeats"`           // WeChat sends stopped by client_msg_id
	Entries  []Entry        `json:"entries,omitempty"` // the newest, recipients masked
}

// getJournal reports what was accepted; ?limit=N adds the N newest entries, ?reference=R only those of R.
func (s *Sandbox) getJournal(w http.ResponseWriter, r *http.Request) {
	limit, reference := 0, r.URL.Query().Get("reference")
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			http.Error(w, "limit is no number of entries", http.StatusBadRequest)
			return
		}
		limit = n
	} else if reference != "" {
		limit = 100
	}
	body := report{Accepted: map[string]int{}, Twice: s.journal.Twice(), Repeats: s.repeats.stopped()}
	for _, provider := range []string{Aliyun, Tencent, WeChat} {
		body.Accepted[provider] = s.journal.Total(provider)
	}
	for _, e := range s.journal.newest(limit, reference) {
		e.Recipient = push.Mask(e.Recipient)
		body.Entries = append(body.Entries, e)
	}
	write(w, ok(body))
}

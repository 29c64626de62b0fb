package httpd

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// checkTimeout bounds one check.
const checkTimeout = 2 * time.Second

// Check says whether one dependency can be used now.
type Check struct {
	Name  string                          // in the answer, such as "redis"
	Spare bool                            // its absence is told, but does not make the process unready
	Probe func(ctx context.Context) error // free of secrets in its error; ctx ends after two seconds
}

// The statuses in the answer of /readyz.
const (
	statusOK          = "ok"
	statusUnavailable = "unavailable"
)

// readiness is the answer of /readyz.
type readiness struct {
	Status string            `json:"status"`
	Checks map[string]result `json:"checks"`
}

// result is what one check found.
type result struct {
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	TookMS int64  `json:"took_ms"`
}

// ready runs all checks at once and answers 503 while one that is needed fails.
func ready(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer := probe(r.Context(), checks)
		code := http.StatusOK
		if answer.Status != statusOK {
			code = http.StatusServiceUnavailable
		}
		writeJSON(w, code, answer)
	}
}

// probe asks every dependency at once and waits for all the answers, two seconds at most.
func probe(ctx context.Context, checks []Check) readiness {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	results := make([]result, len(checks))
	var all sync.WaitGroup // probe waits for every check
	for i, c := range checks {
		all.Go(func() { results[i] = run(ctx, c) })
	}
	all.Wait()
	answer := readiness{Status: statusOK, Checks: make(map[string]result, len(checks))}
	for i, c := range checks {
		answer.Checks[c.Name] = results[i]
		if results[i].Status != statusOK && !c.Spare {
			answer.Status = statusUnavailable
		}
	}
	return answer
}

// Probe says of each dependency, by name, whether it can be used now; two seconds at most.
func Probe(ctx context.Context, checks []Check) map[string]bool {
	found := map[string]bool{}
	for name, r := range probe(ctx, checks).Checks {
		found[name] = r.Status == statusOK
	}
	return found
}

// run takes one check's answer, or its silence.
func run(ctx context.Context, c Check) result {
	began := time.Now()
	done := make(chan error, 1) // a check that ignores ctx ends later and is read by nobody
	go func() { done <- c.Probe(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	r := result{Status: statusOK, TookMS: time.Since(began).Milliseconds()}
	if err != nil {
		r.Status, r.Error = statusUnavailable, strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return r
}

// writeJSON answers with one JSON value that no proxy may keep.
func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}

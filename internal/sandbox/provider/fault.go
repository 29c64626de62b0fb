package provider

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Kind is a way to fail.
type Kind string

// The ways to fail. "Accepts" means that the send is in the journal.
const (
	Refuse          Kind = "refuse"            // answers with Code and Message; does not accept
	Answer          Kind = "answer"            // answers with Status and Body as they are; does not accept
	Stall           Kind = "stall"             // never answers and never accepts; ends with the client or after Delay
	Reset           Kind = "reset"             // resets the connection; does not accept
	AcceptThenStall Kind = "accept_then_stall" // accepts, never answers
	AcceptThenReset Kind = "accept_then_reset" // accepts, then resets the connection
	AcceptThenCut   Kind = "accept_then_cut"   // accepts, answers half, then resets the connection
	Late            Kind = "late"              // accepts after Delay, whether or not the client still waits
	Latency         Kind = "latency"           // accepts, answers after Delay
	Throttle        Kind = "throttle"          // lets Rate requests a second pass, refuses the others with Code
	Revoke          Kind = "revoke"            // WeChat's access token dies, as when somebody else forced a new one
)

// The calls that a fault can be about.
const (
	CallSend  = "send"
	CallQuery = "query" // Aliyun's QuerySendDetails, Tencent's PullSmsSendStatusByPhoneNumber
	CallToken = "token" // WeChat's token and stable_token
)

// maxStall ends a stall whose client never leaves.
const maxStall = 5 * time.Minute

// Fault is one rule: which requests fail, and how. The first rule that picks a request decides.
type Fault struct {
	Provider  string  `json:"provider,omitempty"`  // empty: every provider
	Call      string  `json:"call,omitempty"`      // [send]
	Recipient string  `json:"recipient,omitempty"` // as on the wire; empty: everybody
	Share     float64 `json:"share,omitempty"`     // of the deliveries, 0 < share <= 1, picked by reference [1]
	Each      int     `json:"each,omitempty"`      // at most so many requests of one delivery; 0: all of them
	Count     int     `json:"count,omitempty"`     // at most so many requests in all; 0: no end

	Kind    Kind     `json:"kind"`
	Code    string   `json:"code,omitempty"`    // refuse: the provider's code; throttle: [the provider's own for its rate]
	Message string   `json:"message,omitempty"` // refuse, throttle: the provider's words
	Status  int      `json:"status,omitempty"`  // refuse, answer: the HTTP status [the provider's usual one]
	Body    string   `json:"body,omitempty"`    // answer
	Delay   Duration `json:"delay,omitempty"`   // stall, late, latency
	Rate    int      `json:"rate,omitempty"`    // throttle: requests a second
	Stale   bool     `json:"stale,omitempty"`   // revoke: stable_token gives the dead token until a new one is forced
}

// Duration is a time.Duration that is written as text, such as "1.5s".
type Duration time.Duration

// MarshalText writes the duration as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Validate says what is wrong with the rule, if anything.
func (f Fault) Validate() error {
	switch {
	case !slices.Contains(Kinds(), f.Kind):
		return fmt.Errorf("kind %q is none of %v", f.Kind, Kinds())
	case !slices.Contains([]string{"", Aliyun, Tencent, WeChat}, f.Provider):
		return fmt.Errorf("provider %q is unknown", f.Provider)
	case !slices.Contains([]string{"", CallSend, CallQuery, CallToken}, f.Call):
		return fmt.Errorf("call %q is unknown", f.Call)
	case f.Share < 0 || f.Share > 1:
		return fmt.Errorf("share %v is not between 0 and 1", f.Share)
	case f.Kind == Refuse && f.Code == "":
		return fmt.Errorf("kind %q needs a code", f.Kind)
	case (f.Kind == Throttle) != (f.Rate > 0):
		return fmt.Errorf("kind %q with rate %d: a throttle has a rate, nothing else has", f.Kind, f.Rate)
	case f.Kind == Revoke && (f.Provider != WeChat || f.Call == CallToken):
		return fmt.Errorf("kind %q is about sends by %s", f.Kind, WeChat)
	}
	return nil
}

// Kinds lists the ways to fail.
func Kinds() []Kind {
	return []Kind{Refuse, Answer, Stall, Reset, AcceptThenStall, AcceptThenReset, AcceptThenCut, Late, Latency, Throttle, Revoke}
}

// request is what the rules know of a request.
type request struct {
	provider  string
	call      string
	reference string // empty for queries and tokens
	recipient string
}

// rule is a fault with what it has done so far.
type rule struct {
	Fault

	hits   int
	perID  map[string]int // hits by reference, where Each asks for them
	passed []time.Time    // throttle: what passed within the last second, oldest first
}

// faults picks the fault of each request.
type faults struct {
	seed uint64
	now  func() time.Time

	mu    sync.Mutex // guards rules, their counts, and all below
	rules []*rule
	seen  map[string]int // requests by provider and call
	kinds map[Kind]int   // faults met, by kind, of rules that were replaced too
}

// SetFaults replaces the rules.
func (s *Sandbox) SetFaults(list []Fault) error {
	rules := make([]*rule, len(list))
	for i, f := range list {
		if err := f.Validate(); err != nil {
			return fmt.Errorf("fault %d: %w", i, err)
		}
		rules[i] = &rule{Fault: f, perID: map[string]int{}}
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.rules = rules
	return nil
}

// Faults returns the rules.
func (s *Sandbox) Faults() []Fault {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	list := make([]Fault, len(s.faults.rules))
	for i, r := range s.faults.rules {
		list[i] = r.Fault
	}
	return list
}

// Requests counts the well-formed requests of one call that reached a provider, whatever became of them.
func (s *Sandbox) Requests(provider, call string) int {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return s.faults.seen[provider+" "+call]
}

// Hits counts the requests that met a fault, by kind, since the sandbox was made.
func (s *Sandbox) Hits() map[Kind]int {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	return maps.Clone(s.faults.kinds)
}

// pick counts the request and returns its fault, nil for none.
func (f *faults) pick(q request) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen, f.kinds = map[string]int{}, map[Kind]int{}
	}
	f.seen[q.provider+" "+q.call]++
	for i, r := range f.rules {
		if r.matches(q) && r.chooses(f.seed, i, q, f.seen[q.provider+" "+q.call]) && !r.passes(f.now()) {
			r.hits++
			f.kinds[r.Kind]++
			if r.Each > 0 {
				r.perID[q.reference]++
			}
			return &r.Fault
		}
	}
	return nil
}

func (r *rule) matches(q request) bool {
	call := r.Call
	if call == "" {
		call = CallSend
	}
	return call == q.call && (r.Provider == "" || r.Provider == q.provider) &&
		(r.Recipient == "" || r.Recipient == q.recipient) &&
		(r.Count == 0 || r.hits < r.Count) &&
		(r.Each == 0 || r.perID[q.reference] < r.Each)
}

// passes reports whether a throttle lets a request pass; other rules never do.
func (r *rule) passes(now time.Time) bool {
	if r.Kind != Throttle {
		return false
	}
	r.passed = slices.DeleteFunc(r.passed, func(at time.Time) bool { return now.Sub(at) >= time.Second })
	if len(r.passed) >= r.Rate {
		return false
	}
	r.passed = append(r.passed, now)
	return true
}

// chooses draws by hash: the same seed and reference always draw the same, in whatever order requests come. Requests
// without reference draw by their number.
func (r *rule) chooses(seed uint64, index int, q request, number int) bool {
	if r.Share == 0 || r.Share == 1 {
		return true
	}
	id := q.reference
	if id == "" {
		id = strconv.Itoa(number)
	}
	h := fnv.New64a()
	_ = binary.Write(h, binary.BigEndian, []uint64{seed, uint64(index)})
	_, _ = h.Write([]byte(id))
	return float64(mix(h.Sum64())) < r.Share*math.MaxUint64
}

// mix spreads a hash over all its bits, which FNV does not for short inputs.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

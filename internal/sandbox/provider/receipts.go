package provider

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Receipts says how the providers tell later what became of the sends that they accepted.
type Receipts struct {
	URLs   map[string]string `json:"urls"`              // where each provider posts to; one without posts none
	Delay  Duration          `json:"delay,omitempty"`   // from the acceptance on
	Retry  Duration          `json:"retry,omitempty"`   // before one that was not taken is posted again, three times at most [1s]
	Token  string            `json:"token,omitempty"`   // signs WeChat's
	AESKey string            `json:"aes_key,omitempty"` // 43 characters; encrypts WeChat's
	Ext    bool              `json:"ext,omitempty"`     // Tencent's carry the reference, as of accounts that have it enabled
	Rules  []ReceiptRule     `json:"rules,omitempty"`   // the first that picks a send decides
}

// ReceiptRule is what becomes of some sends; of all others the provider says once that they were delivered.
type ReceiptRule struct {
	Provider  string   `json:"provider,omitempty"`  // empty: every provider
	Recipient string   `json:"recipient,omitempty"` // as on the wire; empty: everybody
	Code      string   `json:"code,omitempty"`      // failed, with this carrier's code
	Then      string   `json:"then,omitempty"`      // another word after it: "delivered", or failed with this code
	Early     bool     `json:"early,omitempty"`     // posted, and answered, before the send is answered
	Delay     Duration `json:"delay,omitempty"`     // instead of Receipts.Delay
	Times     int      `json:"times,omitempty"`     // posted so often [1]
	Never     bool     `json:"never,omitempty"`     // posted never
}

// Posted counts what became of the receipts.
type Posted struct {
	Taken   int `json:"taken"`   // answered as the provider expects
	Refused int `json:"refused"` // answered otherwise, or not at all; each try counts
}

// The bounds of posting.
const (
	receiptTimeout = 5 * time.Second
	receiptTries   = 4 // the first and three more
)

// poster posts receipts. Close waits for what it has out.
type poster struct {
	keys    Keys // WeChat's account
	now     func() time.Time
	closing <-chan struct{}
	client  *http.Client
	out     sync.WaitGroup // one for each accepted send that is posted about; wait waits for them

	mu     sync.Mutex // guards how and posted
	how    Receipts
	posted Posted
}

func newPoster(keys Keys, now func() time.Time, closing <-chan struct{}) *poster {
	return &poster{keys: keys, now: now, closing: closing, client: &http.Client{Timeout: receiptTimeout, Transport: &http.Transport{}}}
}

// SetReceipts says how to post from now on; what is accepted already keeps its ways.
func (s *Sandbox) SetReceipts(how Receipts) error {
	for _, provider := range slices.Sorted(maps.Keys(how.URLs)) {
		u, err := url.Parse(how.URLs[provider])
		if err != nil || u.Host == "" || !slices.Contains([]string{Aliyun, Tencent, WeChat}, provider) {
			return fmt.Errorf("receipts of %q: name a provider and a whole URL", provider)
		}
	}
	if how.AESKey != "" {
		if _, err := wechatKey(how.AESKey); err != nil {
			return err
		}
	}
	if how.Retry == 0 {
		how.Retry = Duration(time.Second)
	}
	s.poster.mu.Lock()
	defer s.poster.mu.Unlock()
	s.poster.how = how
	return nil
}

// Posted counts the receipts posted so far.
func (s *Sandbox) Posted() Posted {
	s.poster.mu.Lock()
	defer s.poster.mu.Unlock()
	return s.poster.posted
}

// accepted posts what is to be said of an accepted send: before it returns, if early, else after its delay.
func (p *poster) accepted(e Entry) {
	p.mu.Lock()
	how := p.how
	p.mu.Unlock()
	rule := how.ruleOf(e)
	if how.URLs[e.Provider] == "" || rule.Never {
		return
	}
	if rule.Early {
		p.post(how, rule, e)
		return
	}
	p.out.Go(func() { // wait waits for it
		if p.wait(rule.Delay) {
			p.post(how, rule, e)
		}
	})
}

// ruleOf is the rule of an accepted send, complete.
func (r Receipts) ruleOf(e Entry) ReceiptRule {
	rule := ReceiptRule{}
	for _, one := range r.Rules {
		if (one.Provider == "" || one.Provider == e.Provider) && (one.Recipient == "" || one.Recipient == e.Recipient) {
			rule = one
			break
		}
	}
	if rule.Delay == 0 {
		rule.Delay = r.Delay
	}
	rule.Times = max(rule.Times, 1)
	return rule
}

// wait reports whether the delay passed before the sandbox closed.
func (p *poster) wait(delay Duration) bool {
	timer := time.NewTimer(time.Duration(delay))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.closing:
		return false
	}
}

// post posts one receipt as often as the rule says, then its other word as often.
func (p *poster) post(how Receipts, rule ReceiptRule, e Entry) {
	words := []string{rule.Code}
	switch rule.Then {
	case "":
	case "delivered":
		words = append(words, "")
	default:
		words = append(words, rule.Then)
	}
	for _, rule.Code = range words {
		for range rule.Times {
			if !p.untilTaken(how, rule, e) {
				return
			}
		}
	}
}

// untilTaken posts one receipt until it is taken or the provider gives up; false: the sandbox closes.
func (p *poster) untilTaken(how Receipts, rule ReceiptRule, e Entry) bool {
	for try := range receiptTries {
		if try > 0 && !p.wait(how.Retry) {
			return false
		}
		if p.once(how, rule, e) {
			break
		}
	}
	return true
}

// once posts one receipt once and reports whether it was taken.
func (p *poster) once(how Receipts, rule ReceiptRule, e Entry) bool {
	taken := false
	r, expects, err := p.request(how, rule, e)
	if err == nil {
		taken = p.send(r, expects)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if taken {
		p.posted.Taken++
	} else {
		p.posted.Refused++
	}
	return taken
}

// close waits until nothing is posted any more.
func (p *poster) close() {
	p.out.Wait()
	p.client.CloseIdleConnections()
}

// receiptReport is the body of /_sandbox/receipts.
type receiptReport struct {
	Receipts

	Posted Posted `json:"posted"`
}

func (s *Sandbox) getReceipts(w http.ResponseWriter, _ *http.Request) {
	s.poster.mu.Lock()
	report := receiptReport{s.poster.how, s.poster.posted}
	s.poster.mu.Unlock()
	write(w, ok(report))
}

// postReceipts replaces how receipts are posted: {} ends them.
func (s *Sandbox) postReceipts(w http.ResponseWriter, r *http.Request) {
	var how Receipts
	if !read(w, r, "the receipts", &how) {
		return
	}
	if err := s.SetReceipts(how); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.getReceipts(w, r)
}

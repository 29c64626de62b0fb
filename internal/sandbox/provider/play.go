package provider

import (
	"cmp"
	"encoding/json"
	"net"
	"net/http"
	"time"
)

// answer is what goes back: a status and a JSON body.
type answer struct {
	status int
	body   any
}

// script is how one provider says yes and no to a request that is well-formed.
type script struct {
	accept    func() answer
	refuse    func(code, message string) answer
	throttled string                  // the code that refuses for the rate
	revoke    func(stale bool) answer // WeChat's sends only
}

// play answers the request, or fails as the rules say.
func (s *Sandbox) play(w http.ResponseWriter, r *http.Request, q request, as script) {
	fault := s.faults.pick(q)
	if fault == nil {
		write(w, as.accept())
		return
	}
	switch fault.Kind {
	case Refuse:
		no := as.refuse(fault.Code, fault.Message)
		if fault.Status != 0 {
			no.status = fault.Status
		}
		write(w, no)
	case Answer:
		w.WriteHeader(max(fault.Status, http.StatusOK))
		_, _ = w.Write([]byte(fault.Body))
	case Stall:
		s.stall(w, r, fault.Delay)
	case Reset:
		reset(w)
	case AcceptThenStall:
		as.accept()
		s.stall(w, r, fault.Delay)
	case AcceptThenReset:
		as.accept()
		reset(w)
	case AcceptThenCut:
		cut(w, as.accept())
	case Late:
		s.wait(r, fault.Delay, false)
		write(w, as.accept())
	case Throttle:
		write(w, as.refuse(cmp.Or(fault.Code, as.throttled), fault.Message))
	case Revoke:
		write(w, as.revoke(fault.Stale))
	case Latency:
		yes := as.accept()
		s.wait(r, fault.Delay, true)
		write(w, yes)
	}
}

// stall keeps the client waiting, then resets the connection.
func (s *Sandbox) stall(w http.ResponseWriter, r *http.Request, delay Duration) {
	if delay == 0 {
		delay = Duration(maxStall)
	}
	s.wait(r, delay, true)
	reset(w)
}

// wait ends after delay, with the sandbox, or, when asked, with the client.
func (s *Sandbox) wait(r *http.Request, delay Duration, withClient bool) {
	timer := time.NewTimer(time.Duration(delay))
	defer timer.Stop()
	var gone <-chan struct{}
	if withClient {
		gone = r.Context().Done()
	}
	select {
	case <-timer.C:
	case <-gone:
	case <-s.closing:
	}
}

// reset ends the connection without an answer, the way a crashed server does.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// cut sends a status that promises a body, and half of the body.
func cut(w http.ResponseWriter, a answer) {
	body, _ := json.Marshal(a.body) // our own structs
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	w.WriteHeader(a.status)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	reset(w)
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body) // a client that left needs no answer
}

func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

// The codes by which the providers refuse what is over their rate.
const (
	aliyunThrottled  = "Throttling.User"
	tencentThrottled = "RequestLimitExceeded"
	wechatThrottled  = "45011"
)

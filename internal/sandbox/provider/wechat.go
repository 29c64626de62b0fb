package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// repeatWindow is how long WeChat sends one openid the same client_msg_id only once.
const repeatWindow = 10 * time.Minute

// firstMsgID is beyond 2^53, as WeChat's ids are: a float on the way would change it.
const firstMsgID = 3_487_542_469_355_618_000

// wechatAnswer is the body of a template send's answer.
type wechatAnswer struct {
	ErrCode int    `json:"errcode"`
	ErrMsg  string `json:"errmsg"`
	MsgID   int64  `json:"msgid,omitempty"`
}

func (s *Sandbox) templateSend(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ToUser     string          `json:"touser"`
		TemplateID string          `json:"template_id"`
		Data       json.RawMessage `json:"data"`
		ClientID   string          `json:"client_msg_id"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	switch {
	case !s.tokens.valid(r.URL.Query().Get("access_token")):
		write(w, deadToken())
		return
	case err != nil || len(in.Data) == 0:
		write(w, wechatRefusal("47001", "data format error"))
		return
	case in.ToUser == "":
		write(w, wechatRefusal("40003", "invalid openid"))
		return
	case in.TemplateID == "":
		write(w, wechatRefusal("40037", "invalid template_id"))
		return
	}
	q := request{WeChat, CallSend, in.ClientID, in.ToUser}
	s.play(w, r, q, script{refuse: wechatRefusal, throttled: wechatThrottled, revoke: s.revoke, accept: func() answer {
		return s.repeats.once(q, func() answer {
			e := s.journal.accept(Entry{
				Provider: WeChat, Reference: q.reference, Recipient: q.recipient, Template: in.TemplateID,
				Params: in.Data, Time: s.cfg.Now(),
			}, func(n int64) string { return strconv.FormatInt(firstMsgID+n, 10) })
			s.poster.accepted(e)
			id, _ := strconv.ParseInt(e.MessageID, 10, 64) // written a line above
			return ok(wechatAnswer{ErrMsg: "ok", MsgID: id})
		})
	}})
}

// deadToken refuses a send for its access token.
func deadToken() answer {
	return wechatRefusal("40001", "invalid credential, access_token is invalid or not latest")
}

func wechatRefusal(code, message string) answer {
	n, err := strconv.Atoi(code)
	if err != nil {
		n = -1
	}
	return ok(wechatAnswer{ErrCode: n, ErrMsg: message})
}

type repeat struct {
	at  time.Time
	yes answer
}

// repeats is WeChat's own dedup by openid and client_msg_id. A repeat gets the first answer again: what WeChat
// really says to it is written nowhere.
type repeats struct {
	now func() time.Time

	mu    sync.Mutex // guards known and stops; held over accept, so that two at once are one send
	known map[string]repeat
	stops int
}

// once accepts, or gives the answer of the first time.
func (p *repeats) once(q request, accept func() answer) answer {
	if q.reference == "" {
		return accept()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now, key := p.now(), q.recipient+" "+q.reference
	if first, known := p.known[key]; known && now.Sub(first.at) < repeatWindow {
		p.stops++
		return first.yes
	}
	if len(p.known) > 10_000 && len(p.known)%1_000 == 0 {
		for old, first := range p.known {
			if now.Sub(first.at) >= repeatWindow {
				delete(p.known, old)
			}
		}
	}
	yes := accept()
	p.known[key] = repeat{now, yes}
	return yes
}

func (p *repeats) stopped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stops
}

// Repeats counts the WeChat sends that client_msg_id stopped from being sent twice.
func (s *Sandbox) Repeats() int { return s.repeats.stopped() }

package receipts

import (
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pusher/internal/push"
)

// wechatYes is the answer that WeChat expects within five seconds; anything else makes it push again, three times.
const wechatYes = "success"

// skew is how far a signature's time may be off: an old signed URL is no key to the door, since in plain mode the
// signature says nothing about the body.
const skew = 10 * time.Minute

// finished is the event that tells what became of a template message.
const finished = "TEMPLATESENDJOBFINISH"

// wechatEvent is what WeChat pushes. In encrypted mode the outer one has Encrypt, and the event is inside.
type wechatEvent struct {
	XMLName xml.Name `xml:"xml"`
	From    string   `xml:"FromUserName"` // openid
	Created int64    `xml:"CreateTime"`
	Type    string   `xml:"MsgType"`
	Event   string   `xml:"Event"`
	MsgID   string   `xml:"MsgID"`
	Status  string   `xml:"Status"`
	Encrypt string   `xml:"Encrypt"`
}

// echo answers WeChat's question whether this door knows the token, asked when the URL is configured.
func (d *Doors) echo(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("echostr")
	if d.cipher != nil && r.URL.Query().Has("msg_signature") {
		plain, err := d.opened(r, given)
		if err != nil {
			d.refuse(w, wechat, http.StatusForbidden)
			return
		}
		say(w, http.StatusOK, "text/plain", string(plain))
		return
	}
	if !d.signed(r, "signature") {
		d.refuse(w, wechat, http.StatusForbidden)
		return
	}
	say(w, http.StatusOK, "text/plain", given)
}

// wechat takes one event. Events of other kinds are none of ours, and accepted.
func (d *Doors) wechat(w http.ResponseWriter, r *http.Request) {
	if d.cipher == nil && !d.signed(r, "signature") {
		d.refuse(w, wechat, http.StatusForbidden)
		return
	}
	body, ok := read(w, r)
	if !ok {
		return
	}
	if d.cipher != nil { // a plain message would be one that nobody vouches for
		var outer wechatEvent
		err := xml.Unmarshal(body, &outer)
		if err == nil {
			body, err = d.opened(r, outer.Encrypt)
		}
		if err != nil {
			d.refuse(w, wechat, http.StatusForbidden)
			return
		}
	}
	if !d.take(r.Context(), wechat, d.ofWeChat(body)) {
		http.Error(w, "try again", http.StatusInternalServerError)
		return
	}
	say(w, http.StatusOK, "text/plain", wechatYes)
}

// ofWeChat reads an event; nothing, if it is about no template message.
func (d *Doors) ofWeChat(body []byte) []push.Receipt {
	var in wechatEvent
	if err := xml.Unmarshal(body, &in); err != nil {
		return []push.Receipt{unreadable(wechat, string(body))}
	}
	if in.Type != "event" || in.Event != finished {
		return nil
	}
	report, code, err := wechatStatus(in.Status)
	if err != nil {
		return []push.Receipt{unreadable(wechat, string(body))}
	}
	id := strings.TrimSpace(in.MsgID)
	if id == "0" {
		id = "" // seen in the field: names no message
	}
	return []push.Receipt{d.hidden(push.Receipt{
		Provider: wechat, Report: report, MessageID: id, Code: code, Message: strings.TrimSpace(in.Status),
		ReportedAt: time.Unix(in.Created, 0), Raw: string(body),
	}, in.From, in.From)}
}

// errStatus says that a status is none of those known.
var errStatus = errors.New("neither success nor failed")

// wechatStatus reads "success" and "failed:user block"; the code is its reason in snake case.
func wechatStatus(s string) (push.Report, string, error) {
	word, reason, _ := strings.Cut(strings.TrimSpace(s), ":")
	switch word {
	case "success":
		return push.ReportDelivered, "success", nil
	case "failed":
		return push.ReportUndelivered, strings.Join(strings.Fields(reason), "_"), nil
	}
	return "", "", errStatus
}

// signed checks the signature of that name over the token, the time, the nonce and more, and the time itself.
func (d *Doors) signed(r *http.Request, name string, more ...string) bool {
	q := r.URL.Query()
	at, err := strconv.ParseInt(q.Get("timestamp"), 10, 64)
	if err != nil || d.cfg.Now().Sub(time.Unix(at, 0)).Abs() > skew {
		return false
	}
	return sameSignature(q.Get(name), append(more, d.cfg.WeChat.Token, q.Get("timestamp"), q.Get("nonce"))...)
}

// errForged says that a message is not signed with our token.
var errForged = errors.New("the signature is not ours")

// opened checks and decrypts what came encrypted.
func (d *Doors) opened(r *http.Request, encrypted string) ([]byte, error) {
	if encrypted == "" || !d.signed(r, "msg_signature", encrypted) {
		return nil, errForged
	}
	return d.cipher.open(encrypted)
}

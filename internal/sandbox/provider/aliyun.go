package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxParam is how many characters one template value may have.
const maxParam = 35

var aliyunPhone = regexp.MustCompile(`^(1[3-9][0-9]{9}|(\+|00)?86-?1[3-9][0-9]{9}|[1-9][0-9]{6,14})$`)

// beijing is the zone of the providers' days and times.
func beijing() *time.Location { return time.FixedZone("Asia/Shanghai", 8*60*60) }

// aliyunAnswer is the body of an answer of dysmsapi.
type aliyunAnswer struct {
	Code      string `json:"Code"`
	Message   string `json:"Message"`
	RequestID string `json:"RequestId"`
	BizID     string `json:"BizId,omitempty"`
	HostID    string `json:"HostId,omitempty"` // gateway refusals only
}

func (s *Sandbox) aliyun(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "reading the body", http.StatusBadRequest)
		return
	}
	if no := s.guard.check(r, body, s.cfg.Aliyun, s.cfg.Now()); no != nil {
		write(w, aliyunRefusal(no.code, no.message))
		return
	}
	params := r.URL.Query()
	switch action := r.Header.Get("X-Acs-Action"); action {
	case "SendSms":
		s.aliyunSend(w, r, params)
	case "QuerySendDetails":
		s.aliyunQuery(w, r, params)
	default:
		write(w, aliyunRefusal("InvalidAction.NotFound", "the sandbox does not know "+action))
	}
}

func (s *Sandbox) aliyunSend(w http.ResponseWriter, r *http.Request, params url.Values) {
	if code, message := aliyunWrong(params); code != "" {
		write(w, aliyunRefusal(code, message))
		return
	}
	q := request{Aliyun, CallSend, params.Get("OutId"), params.Get("PhoneNumbers")}
	accept := func() answer {
		e := s.journal.accept(Entry{
			Provider: Aliyun, Reference: q.reference, Recipient: q.recipient, Template: params.Get("TemplateCode"),
			Params: raw(params.Get("TemplateParam")), Time: s.cfg.Now(),
		}, func(n int64) string { return strconv.FormatInt(900_000_000_000_000_000+n, 10) + "^0" })
		s.poster.accepted(e)
		return ok(aliyunAnswer{Code: "OK", Message: "OK", RequestID: "sandbox-" + e.MessageID, BizID: e.MessageID})
	}
	s.play(w, r, q, script{accept: accept, refuse: aliyunRefusal, throttled: aliyunThrottled})
}

// aliyunWrong says what Aliyun would refuse for its own sake.
func aliyunWrong(params url.Values) (code, message string) {
	switch {
	case params.Get("SignName") == "":
		return "isv.SMS_SIGNATURE_ILLEGAL", "该账号下找不到对应签名"
	case params.Get("TemplateCode") == "":
		return "isv.SMS_TEMPLATE_ILLEGAL", "该账号下找不到对应模板"
	case !aliyunPhone.MatchString(params.Get("PhoneNumbers")):
		return "isv.MOBILE_NUMBER_ILLEGAL", params.Get("PhoneNumbers") + "手机号码格式错误"
	case !params.Has("TemplateParam"):
		return "", ""
	}
	var values map[string]*string
	if json.Unmarshal([]byte(params.Get("TemplateParam")), &values) != nil {
		return "isv.INVALID_JSON_PARAM", "参数格式错误,请修改为字符串值"
	}
	for name, value := range values {
		if value == nil {
			return "isv.INVALID_JSON_PARAM", name + ": 参数格式错误,请修改为字符串值"
		}
		if utf8.RuneCountInString(*value) > maxParam {
			return "isv.PARAM_LENGTH_LIMIT", name + ": 参数超出长度限制"
		}
	}
	return "", ""
}

// aliyunRefusal is a no: of the product with HTTP 200, of the gateway with HTTP 400 and a HostId.
func aliyunRefusal(code, message string) answer {
	no := aliyunAnswer{Code: code, Message: message, RequestID: "sandbox-refusal"}
	if len(code) > 4 && (code[:4] == "isv." || code[:4] == "isp.") {
		return ok(no)
	}
	no.HostID = "dysmsapi.aliyuncs.com"
	return answer{http.StatusBadRequest, no}
}

// raw is text as JSON to keep, nil when it is none.
func raw(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

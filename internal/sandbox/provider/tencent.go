package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

var tencentPhone = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// tencentSendRequest is the body of SendSms.
type tencentSendRequest struct {
	PhoneNumberSet   []string
	SmsSdkAppID      string `json:"SmsSdkAppId"`
	TemplateID       string `json:"TemplateId"`
	SignName         string
	TemplateParamSet []string
	SessionContext   string
}

// tencentStatus is what SendSms says of one number.
type tencentStatus struct {
	SerialNo       string
	PhoneNumber    string
	Fee            int
	SessionContext string
	Code           string
	Message        string
	IsoCode        string
}

// tencentAnswer is the body of any answer; HTTP is 200 for refusals too.
type tencentAnswer struct {
	Response struct {
		Error         *tencentError   `json:",omitempty"`
		SendStatusSet []tencentStatus `json:",omitempty"`
		PullSet       []tencentPull   `json:"PullSmsSendStatusSet,omitempty"`
		RequestID     string          `json:"RequestId"`
	}
}

type tencentError struct{ Code, Message string }

func (s *Sandbox) tencent(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "reading the body", http.StatusBadRequest)
		return
	}
	if no := checkTC3(r, body, s.cfg.Tencent, s.cfg.Now()); no != nil {
		write(w, tencentFailure(no.code, no.message))
		return
	}
	switch action := r.Header.Get("X-Tc-Action"); action {
	case "SendSms":
		s.tencentSend(w, r, body)
	case "PullSmsSendStatusByPhoneNumber":
		s.tencentPull(w, r, body)
	default:
		write(w, tencentFailure("InvalidAction", "the sandbox does not know "+action))
	}
}

func (s *Sandbox) tencentSend(w http.ResponseWriter, r *http.Request, body []byte) {
	var in tencentSendRequest
	if err := json.Unmarshal(body, &in); err != nil || len(in.PhoneNumberSet) != 1 {
		write(w, tencentFailure("MissingParameter.EmptyPhoneNumberSet", "one number a request is what the sandbox takes"))
		return
	}
	q := request{Tencent, CallSend, in.SessionContext, in.PhoneNumberSet[0]}
	if !tencentPhone.MatchString(q.recipient) {
		write(w, tencentNumber(q, tencentStatus{
			Code: "InvalidParameterValue.IncorrectPhoneNumber", Message: "incorrect phone number " + q.recipient,
		}))
		return
	}
	accept := func() answer {
		params, _ := json.Marshal(in.TemplateParamSet) // strings
		e := s.journal.accept(Entry{
			Provider: Tencent, Reference: q.reference, Recipient: q.recipient, Template: in.TemplateID,
			Params: params, Time: s.cfg.Now(),
		}, func(n int64) string { return "2433:" + strconv.FormatInt(2_000_000_000_000+n, 10) })
		s.poster.accepted(e)
		return tencentNumber(q, tencentStatus{SerialNo: e.MessageID, Fee: 1, Code: "Ok", Message: "send success"})
	}
	s.play(w, r, q, script{accept: accept, throttled: tencentThrottled, refuse: func(code, message string) answer {
		if ofRequest(code) {
			return tencentFailure(code, message)
		}
		return tencentNumber(q, tencentStatus{Code: code, Message: message})
	}})
}

// ofRequest tells the codes that fail the whole request from those that Tencent gives a number.
func ofRequest(code string) bool {
	for _, prefix := range []string{"FailedOperation.", "LimitExceeded.", "InvalidParameterValue.", "InternalError."} {
		if strings.HasPrefix(code, prefix) {
			return false
		}
	}
	return true
}

// tencentNumber answers with one number's status.
func tencentNumber(q request, status tencentStatus) answer {
	status.PhoneNumber, status.SessionContext, status.IsoCode = q.recipient, q.reference, "CN"
	var a tencentAnswer
	a.Response.SendStatusSet = []tencentStatus{status}
	a.Response.RequestID = "sandbox-" + status.SerialNo
	return ok(a)
}

// tencentFailure answers with an error of the whole request.
func tencentFailure(code, message string) answer {
	var a tencentAnswer
	a.Response.Error = &tencentError{code, message}
	a.Response.RequestID = "sandbox-refusal"
	return ok(a)
}

package provider

import (
	"encoding/json"
	"net/http"
	"time"
)

// tencentPull is one receipt as PullSmsSendStatusByPhoneNumber tells it. SessionContext is empty for every account that
// has not had it enabled.
type tencentPull struct {
	UserReceiveTime  int64
	CountryCode      string
	SubscriberNumber string
	PhoneNumber      string
	SerialNo         string
	ReportStatus     string
	Description      string
	SessionContext   string
}

// tencentPull answers the receipts of one number between two times.
func (s *Sandbox) tencentPull(w http.ResponseWriter, r *http.Request, body []byte) {
	var in struct {
		BeginTime, EndTime int64
		Limit              int
		PhoneNumber        string
	}
	if err := json.Unmarshal(body, &in); err != nil || in.Limit < 1 || in.Limit > 100 {
		write(w, tencentFailure("InvalidParameterValue.LimitVerifyFail", "Limit is 1 to 100"))
		return
	}
	accept := func() answer {
		begin, end := time.Unix(in.BeginTime, 0), time.Unix(in.EndTime, 0)
		found := s.listed(Tencent, func(e Entry) bool {
			fate, _ := s.fateOf(e, s.cfg.Now()) // without the carrier's word there is no row
			return fate != waiting && e.Recipient == in.PhoneNumber && !e.Time.Before(begin) && (in.EndTime == 0 || !e.Time.After(end))
		})
		var a tencentAnswer
		a.Response.RequestID = "sandbox-pull"
		a.Response.PullSet = []tencentPull{}
		for _, e := range found[:min(len(found), in.Limit)] {
			row := tencentPull{
				UserReceiveTime: e.Time.Unix(), PhoneNumber: e.Recipient, SerialNo: e.MessageID,
				ReportStatus: "SUCCESS", Description: "DELIVRD",
			}
			if fate, code := s.fateOf(e, s.cfg.Now()); fate == failed {
				row.ReportStatus, row.Description = "FAIL", code
			}
			if s.queries.get().Context {
				row.SessionContext = e.Reference
			}
			a.Response.PullSet = append(a.Response.PullSet, row)
		}
		return ok(a)
	}
	s.play(w, r, request{provider: Tencent, call: CallQuery, recipient: in.PhoneNumber}, script{accept: accept, refuse: tencentFailure, throttled: tencentThrottled})
}

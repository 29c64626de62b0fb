package provider

import (
	"net/http"
	"net/url"
	"strconv"
)

// aliyunDetails is the body of QuerySendDetails.
type aliyunDetails struct {
	Code       string `json:"Code"`
	Message    string `json:"Message"`
	RequestID  string `json:"RequestId"`
	TotalCount int    `json:"TotalCount"`
	List       struct {
		Rows []aliyunDetail `json:"SmsSendDetailDTO"`
	} `json:"SmsSendDetailDTOs"`
}

// aliyunDetail is one accepted send, as the query tells it; it has no BizId.
type aliyunDetail struct {
	PhoneNum     string `json:"PhoneNum"`
	SendStatus   int    `json:"SendStatus"` // 1 waits for its receipt, 2 failed, 3 delivered
	ErrCode      string `json:"ErrCode"`
	TemplateCode string `json:"TemplateCode"`
	Content      string `json:"Content"`
	SendDate     string `json:"SendDate"`
	ReceiveDate  string `json:"ReceiveDate"`
	OutID        string `json:"OutId"`
}

// aliyunQuery answers for one number and one day in Beijing, a page at a time.
func (s *Sandbox) aliyunQuery(w http.ResponseWriter, r *http.Request, params url.Values) {
	size, errSize := strconv.Atoi(params.Get("PageSize"))
	page, errPage := strconv.Atoi(params.Get("CurrentPage"))
	if errSize != nil || errPage != nil || size < 1 || size > 50 || page < 1 {
		write(w, aliyunRefusal("isv.INVALID_PARAMETERS", "参数异常"))
		return
	}
	phone, day := params.Get("PhoneNumber"), params.Get("SendDate")
	accept := func() answer {
		found := s.listed(Aliyun, func(e Entry) bool {
			return e.Recipient == phone && e.Time.In(beijing()).Format("20060102") == day
		})
		details := aliyunDetails{Code: "OK", Message: "OK", RequestID: "sandbox-query", TotalCount: len(found)}
		details.List.Rows = []aliyunDetail{}
		for i := (page - 1) * size; i < min(page*size, len(found)); i++ {
			at := found[i].Time.In(beijing()).Format("2006-01-02 15:04:05")
			fate, code := s.fateOf(found[i], s.cfg.Now())
			details.List.Rows = append(details.List.Rows, aliyunDetail{
				PhoneNum: phone, SendStatus: int(fate) + 1, ErrCode: code, TemplateCode: found[i].Template,
				SendDate: at, ReceiveDate: at, OutID: found[i].Reference,
			})
		}
		return ok(details)
	}
	s.play(w, r, request{provider: Aliyun, call: CallQuery, recipient: phone}, script{accept: accept, refuse: aliyunRefusal, throttled: aliyunThrottled})
}

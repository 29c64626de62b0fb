package receipts

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"pusher/internal/push"
)

// The answers that each provider expects: anything else makes it send again.
const (
	aliyunYes  = `{"code":0,"msg":"接收成功"}`
	aliyunNo   = `{"code":1,"msg":"try again"}`
	tencentYes = `{"result":0,"errmsg":"OK"}`
	tencentNo  = `{"result":1,"errmsg":"try again"}`
)

// errShape says that a receipt lacks what it is for.
var errShape = errors.New("says neither what became of a message nor of which")

// aliyunReceipt is one of an SmsReport's.
type aliyunReceipt struct {
	Phone      text `json:"phone_number"`
	ReportTime text `json:"report_time"`
	Success    text `json:"success"`
	Code       text `json:"err_code"`
	Message    text `json:"err_msg"`
	BizID      text `json:"biz_id"`
	OutID      text `json:"out_id"` // our reference
}

// tencentReceipt is one of Tencent's status callback.
type tencentReceipt struct {
	Received    text `json:"user_receive_time"`
	Nation      text `json:"nationcode"`
	Mobile      text `json:"mobile"`
	Status      text `json:"report_status"`
	Code        text `json:"errmsg"`
	Description text `json:"description"`
	SerialNo    text `json:"sid"`
	Session     text `json:"ext"` // our reference, where the account has it enabled
}

func (d *Doors) aliyun(w http.ResponseWriter, r *http.Request) {
	d.sms(w, r, aliyun, d.ofAliyun, aliyunYes, aliyunNo)
}

func (d *Doors) tencent(w http.ResponseWriter, r *http.Request) {
	d.sms(w, r, tencent, d.ofTencent, tencentYes, tencentNo)
}

// sms takes a JSON array of receipts. One that cannot be read keeps none of the others back.
func (d *Doors) sms(
	w http.ResponseWriter, r *http.Request, provider string, one func(json.RawMessage) (push.Receipt, error), yes, no string,
) {
	if status := d.guard.refuses(r); status != 0 {
		d.refuse(w, provider, status)
		return
	}
	body, ok := read(w, r)
	if !ok {
		return
	}
	receipts, err := list(body, provider, one)
	switch stored := d.take(r.Context(), provider, receipts); {
	case !stored:
		say(w, http.StatusInternalServerError, "application/json", no)
	case err != nil:
		say(w, http.StatusBadRequest, "application/json", no)
	default:
		say(w, http.StatusOK, "application/json", yes)
	}
}

// list reads an array of receipts. What is no such array is kept whole, as one that is unreadable.
func list(body []byte, provider string, one func(json.RawMessage) (push.Receipt, error)) ([]push.Receipt, error) {
	var items []json.RawMessage
	err := json.Unmarshal(body, &items)
	if err == nil && len(items) > maxItems {
		err = errTooMany
	}
	if err != nil {
		return []push.Receipt{unreadable(provider, string(body))}, err
	}
	receipts := make([]push.Receipt, len(items))
	for i, item := range items {
		if receipts[i], err = one(item); err != nil {
			receipts[i] = unreadable(provider, string(item))
		}
	}
	return receipts, nil
}

func (d *Doors) ofAliyun(item json.RawMessage) (push.Receipt, error) {
	var in aliyunReceipt
	if err := json.Unmarshal(item, &in); err != nil {
		return push.Receipt{}, err
	}
	report, known := map[text]push.Report{"true": push.ReportDelivered, "false": push.ReportUndelivered}[in.Success]
	if !known || in.BizID == "" && in.OutID == "" {
		return push.Receipt{}, errShape
	}
	r := push.Receipt{
		Provider: aliyun, Report: report, MessageID: string(in.BizID), Reference: string(in.OutID),
		Code: string(in.Code), Message: string(in.Message), ReportedAt: beijing(in.ReportTime), Raw: string(item),
	}
	return d.hidden(r, string(in.Phone), d.phone(string(in.Phone))), nil
}

func (d *Doors) ofTencent(item json.RawMessage) (push.Receipt, error) {
	var in tencentReceipt
	if err := json.Unmarshal(item, &in); err != nil {
		return push.Receipt{}, err
	}
	report, known := map[text]push.Report{"SUCCESS": push.ReportDelivered, "FAIL": push.ReportUndelivered}[in.Status]
	if !known || in.SerialNo == "" && in.Session == "" {
		return push.Receipt{}, errShape
	}
	r := push.Receipt{
		Provider: tencent, Report: report, MessageID: string(in.SerialNo), Reference: string(in.Session),
		Code: string(in.Code), Message: string(in.Description), ReportedAt: beijing(in.Received), Raw: string(item),
	}
	whole := string(in.Mobile)
	if in.Nation != "" {
		whole = "+" + string(in.Nation) + whole
	}
	return d.hidden(r, string(in.Mobile), d.phone(whole)), nil
}

// phone is a provider's way to write a phone as the push log hashes it; as it is, if it is none.
func (d *Doors) phone(raw string) string {
	if e164, err := push.NormalizePhone(raw, d.cfg.Region); err == nil {
		return e164
	}
	return raw
}

// beijing reads a provider's time of day; the zero time when it is none.
func beijing(s text) time.Time {
	t, err := time.ParseInLocation(time.DateTime, string(s), time.FixedZone("Asia/Shanghai", 8*60*60))
	if err != nil {
		return time.Time{}
	}
	return t
}

package tencent

import (
	"context"
	"errors"
	"net/http"
	"strings"

	sdk "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/common/errors"
	sms "github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud/sms/v20210111"

	"pusher/internal/channels"
	"pusher/internal/push"
)

// failure classifies the client's error: the transport's own failure, which the client wraps; an error of the whole
// request; or an answer that the client could not read, whose text it would quote.
func (s *Sender) failure(err error, status int) error {
	if f, ok := errors.AsType[*push.Failure](err); ok {
		return f
	}
	if said, ok := errors.AsType[*sdk.TencentCloudSDKError](err); ok && said.Code != "" && !strings.HasPrefix(said.Code, "ClientError.") {
		return s.codes.Failure(said.Code, said.Message, s.cfg.Now())
	}
	return channels.Uncoded(status)
}

// read finds what the answer says of our number. An answer that says nothing of it is ambiguous.
func (s *Sender) read(answer *sms.SendSmsResponse, phone string, status int) (string, error) {
	if answer == nil || answer.Response == nil {
		return "", channels.Uncoded(status)
	}
	for _, number := range answer.Response.SendStatusSet {
		if number == nil || text(number.Code) == "" {
			continue
		}
		if of := text(number.PhoneNumber); of != phone && (of != "" || len(answer.Response.SendStatusSet) > 1) {
			continue
		}
		f := s.codes.Failure(text(number.Code), text(number.Message), s.cfg.Now())
		if f.Class == push.Accepted {
			return text(number.SerialNo), nil
		}
		return "", f
	}
	return "", channels.Uncoded(status)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// statusKeeper keeps an answer's HTTP status, which the client tells only inside a text.
type statusKeeper struct{ next http.RoundTripper }

type statusKey struct{}

// keepStatus returns a context in which the answer's status is kept; 0 while there is none.
func keepStatus(ctx context.Context) (context.Context, *int) {
	status := new(int)
	return context.WithValue(ctx, statusKey{}, status), status
}

// RoundTrip passes the request on and keeps the answer's status.
func (k statusKeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := k.next.RoundTrip(r)
	if status, ok := r.Context().Value(statusKey{}).(*int); ok && answer != nil {
		*status = answer.StatusCode
	}
	return answer, err
}

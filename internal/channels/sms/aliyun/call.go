package aliyun

import (
	"context"
	"encoding/json"
	"net/http"

	"pusher/internal/channels"
	"pusher/internal/push"
)

const apiVersion = "2017-05-25"

// signTries is how often a call is signed: the second time only after a refusal of nonce or time, which proves that
// the first was not carried out.
const signTries = 2

// verdict is what every answer of dysmsapi says of the call.
type verdict struct {
	Code    string
	Message string
}

// call makes one call and returns the answer of a provider that said OK. Its error is a *push.Failure.
func (s *Sender) call(ctx context.Context, action string, params map[string]string) ([]byte, error) {
	ctx, cancel := channels.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	for try := 1; ; try++ {
		text, status, err := s.once(ctx, action, params)
		if err != nil {
			return nil, err
		}
		var said verdict
		if json.Unmarshal(text, &said) != nil || said.Code == "" {
			return nil, channels.Uncoded(status)
		}
		f := s.codes.Failure(said.Code, said.Message, s.cfg.Now())
		switch {
		case f.Class == push.Accepted:
			return text, nil
		case stale(said.Code) && try < signTries:
			continue
		}
		return nil, f
	}
}

// stale says whether a code refuses only the signature's nonce or time.
func stale(code string) bool {
	return code == "SignatureNonceUsed" || code == "InvalidTimeStamp.Expired"
}

// once signs and makes one request.
func (s *Sender) once(ctx context.Context, action string, params map[string]string) (text []byte, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base.String()+"/", http.NoBody)
	if err != nil {
		return nil, 0, &push.Failure{Class: push.NotSent, Code: "request", Unsent: true, Err: err}
	}
	r.Header.Set("Accept", "application/json")
	api{action, apiVersion, params}.sign(r, s.cfg.AccessKeyID, s.cfg.AccessKeySecret, s.cfg.Now(), s.nonce())
	return s.transport.Do(r)
}
